// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that undo the fault first.
#include "harness/kit/neighbour.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  S0-14, S2-7 and threads of F-MEM-01 and F-LIF-03.
    // Expected to help because  the missing resource is back.
    {.name = "release",
     .words = "undo what caused it (free the memory, destroy the handles, lift the limit), then again",
     .answers = {"memory", "pool", "handles", "host_limit"},
     .after = [](world& w) { w.undo(); }},
    // Recommended by  S0-14 and threads of F-MEM-01.
    // Expected to help because  the missing resource is back, and the handle may keep state of the failure.
    {.name = "release_and_new_handle",
     .words = "undo what caused it, then again by a new handle",
     .answers = {"memory", "pool", "handles", "host_limit"},
     .after = [](world& w) { w.undo(); },
     .new_operation = true},
    // Recommended by  this project, to see whether the failure is one of the invalidated capture alone.
    // Expected to help because  an invalidated capture takes no more work, and can only be ended.
    {.name = "re_capture",
     .words = "end the capture, begin another one, then again",
     .answers = {"capture"},
     .after = [](world& w) { w.undo(); },
     .fault_again = true},
    // Recommended by  this project, to see whether what the other process did lasts longer than it.
    // Expected to help because  the error belonged to that process.
    {.name = "neighbour_ends",
     .words = "wait until the other process has ended, then again by a new handle",
     .answers = {"neighbour", "mps"},
     .after = [](world& w) { w.undo(); },
     .new_operation = true,
     .own_process = true},
    // Recommended by  Multi-Process Service, error containment: the server takes new clients when all that had the fault have ended.
    // Expected to help because  no client has the error any more.
    {.name = "all_clients_end",
     .words = "end all clients of the MPS server, then again in a new process",
     .answers = {"mps"},
     .after = [](world& w) { w.undo(); },
     .new_process = true,
     .process_ends = true},
    // Recommended by  this project, to see whether it takes more than the end of all clients.
    // Expected to help because  a new server has none of what an error damaged.
    {.name = "mps_restart",
     .words = "end all clients and the MPS daemon, start it anew, then again in a new process",
     .answers = {"mps"},
     .after =
         [](world& w) {
           w.undo();
           restart_mps();
         },
     .new_process = true,
     .process_ends = true}};

}  // namespace
}  // namespace cufault
