// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 512 x 512 x 512.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "sgemm_512",
                               .step = {"cublasSgemm", "square_512"},
                               .summary = "cublasSgemm of 512 x 512 x 512",
                               .fresh = fresh_sgemm(512, 512, 512),
                               .has_operand = true,
                               .smaller = "sgemm_64"}};

}  // namespace
}  // namespace cufault::operations
