// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
