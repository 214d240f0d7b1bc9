// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx of BF16 into FP32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "gemm_ex_bfloat16",
                               .step = {"cublasGemmEx", "bf16"},
                               .summary = "cublasGemmEx in BF16",
                               .fresh = fresh_product(usual_product(CUDA_R_16BF, CUDA_R_32F), by_gemm_ex),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
