// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"

namespace cufault {
namespace {

const register_command try_python_here{
    "try-python", [](command_line& line) { add_python_command(line, "try-python", "For tests"); }, hidden};

}  // namespace
}  // namespace cufault
