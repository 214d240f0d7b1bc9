// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-STK-02 and F-STK-04 (restart) and of F-LIF-02 (exec after fork).
// Expected to help because  it has a new context and libraries that are not initialised yet.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "new_process",
                            .words = "again in a new process",
                            .answers = {"dead_context", "fork", "reset", "failed_create", "context",
                                        "driver_call", "operand", "mps"},
                            .new_process = true}};

}  // namespace
}  // namespace cufault
