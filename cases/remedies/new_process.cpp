// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{
    {.name = "new_process",
     .words = "again in a new process",
     .answers = {"dead_context", "fork", "reset", "failed_create", "context", "driver_call", "operand"},
     .new_process = true}};

}  // namespace
}  // namespace cufault
