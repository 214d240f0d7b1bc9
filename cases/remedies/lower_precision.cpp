// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
