// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 4096 x 4096 x 512.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "sgemm_large",
                               .step = {"cublasSgemm", "large"},
                               .summary = "cublasSgemm of 4096 x 4096 x 512",
                               .fresh = fresh_sgemm(4096, 4096, 512),
                               .has_operand = true,
                               .smaller = "sgemm_1024"}};

}  // namespace
}  // namespace cufault::operations
