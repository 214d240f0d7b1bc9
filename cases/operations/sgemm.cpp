// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 96 x 80 x 64.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

cublasStatus_t by_sgemm(cublasHandle_t handle, checked_product& p) {
  return cufault::sgemm(handle, p.described(), p.c.data());
}

const register_operation here{{.name = "sgemm",
                               .step = {"cublasSgemm"},
                               .summary = "cublasSgemm",
                               .fresh = fresh_product(usual_product(), by_sgemm),
                               .has_operand = true,
                               .lower_precision = "gemm_ex_half"}};

}  // namespace
}  // namespace cufault::operations
