// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmStridedBatchedEx in FP32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product gemm_strided_batched_product() {
  argument_check::product p = usual_product();
  p.batch = 3;
  return p;
}

const register_operation here{{.name = "gemm_strided_batched",
                               .step = {"cublasGemmStridedBatchedEx"},
                               .summary = "cublasGemmStridedBatchedEx",
                               .fresh = fresh_product(gemm_strided_batched_product(), by_gemm_ex),
                               .has_operand = true,
                               .lower_precision = "gemm_strided_batched_half"}};

}  // namespace
}  // namespace cufault::operations
