// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-LIF-05 and F-LIF-09. Threads of F-STK-01 and F-STK-02 say it does not help.
// Expected to help because  state of the failure may be in the handle: its context, stream or workspace.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "new_handle",
                            .words = "again by a new handle",
                            .answers = {"dead_context", "last_error", "reset", "context", "handle", "stream",
                                        "workspace", "memory", "failed_create", "driver_call", "mps"},
                            .new_operation = true}};

}  // namespace
}  // namespace cufault
