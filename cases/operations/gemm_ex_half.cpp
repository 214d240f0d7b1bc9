// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx of FP16 into FP16, summed in FP32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "gemm_ex_half",
                               .step = {"cublasGemmEx", "fp16"},
                               .summary = "cublasGemmEx in FP16",
                               .fresh = fresh_product(usual_product(CUDA_R_16F, CUDA_R_16F), by_gemm_ex),
                               .has_operand = true,
                               .representative = true}};

}  // namespace
}  // namespace cufault::operations
