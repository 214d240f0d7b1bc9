// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  Multi-Process Service, error containment: the server takes new clients when all that had the fault have ended.
// Expected to help because  no client has the error any more.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "all_clients_end",
                            .words = "end all clients of the MPS server, then again in a new process",
                            .answers = {"mps"},
                            .after = [](world& w) { w.undo(); },
                            .new_process = true,
                            .process_ends = true}};

}  // namespace
}  // namespace cufault
