// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 64 x 64 x 64.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "sgemm_64",
                               .step = {"cublasSgemm", "square_64"},
                               .summary = "cublasSgemm of 64 x 64 x 64",
                               .fresh = fresh_sgemm(64, 64, 64),
                               .has_operand = true,
                               .representative = true}};

}  // namespace
}  // namespace cufault::operations
