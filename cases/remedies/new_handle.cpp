// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "new_handle",
                            .words = "again by a new handle",
                            .answers = {"dead_context", "last_error", "reset", "context", "handle", "stream",
                                        "workspace", "memory", "failed_create", "driver_call"},
                            .new_operation = true}};

}  // namespace
}  // namespace cufault
