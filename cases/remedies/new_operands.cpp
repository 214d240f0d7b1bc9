// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the freed operand alone makes the difference.
// Expected to help because  the new operation reads and writes no memory that was freed.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "new_operands",
                            .words = "again with new operands, by a new handle",
                            .answers = {"operand"},
                            .new_operation = true}};

}  // namespace
}  // namespace cufault
