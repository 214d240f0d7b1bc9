// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmStridedBatchedEx in FP16.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product gemm_strided_batched_half_product() {
  argument_check::product p = usual_product(CUDA_R_16F, CUDA_R_16F);
  p.batch = 3;
  return p;
}

const register_operation here{{.name = "gemm_strided_batched_half",
                               .step = {"cublasGemmStridedBatchedEx", "fp16"},
                               .summary = "cublasGemmStridedBatchedEx in FP16",
                               .fresh = fresh_product(gemm_strided_batched_half_product(), by_gemm_ex),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
