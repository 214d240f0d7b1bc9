// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether it takes more than the end of all clients.
// Expected to help because  a new server has none of what an error damaged.
#include "harness/kit/neighbour.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{
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
