// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx of FP16 into FP32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "gemm_ex_half_to_float",
                               .step = {"cublasGemmEx", "fp16_to_fp32"},
                               .summary = "cublasGemmEx of FP16 into FP32",
                               .fresh = fresh_product(usual_product(CUDA_R_16F, CUDA_R_32F), by_gemm_ex),
                               .has_operand = true,
                               .lower_precision = "gemm_ex_half"}};

}  // namespace
}  // namespace cufault::operations
