// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-9 (FP16); S0-16 says that it halves memory.
// Expected to help because  operands in half precision take half the memory.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "lower_precision",
                            .words = "the same in half precision, by a new handle",
                            .answers = {"memory", "pool", "workspace"},
                            .new_operation = true,
                            .instead = &operation_type::lower_precision}};

}  // namespace
}  // namespace cufault
