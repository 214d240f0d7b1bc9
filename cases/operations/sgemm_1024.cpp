// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 1024 x 1024 x 1024.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "sgemm_1024",
                               .step = {"cublasSgemm", "square_1024"},
                               .summary = "cublasSgemm of 1024 x 1024 x 1024",
                               .fresh = fresh_sgemm(1024, 1024, 1024),
                               .has_operand = true,
                               .smaller = "sgemm_512"}};

}  // namespace
}  // namespace cufault::operations
