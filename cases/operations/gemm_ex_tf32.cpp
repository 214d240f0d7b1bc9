// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx in TF32: whole numbers from -2 to 2 are exact in it.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product gemm_ex_tf32_product() {
  argument_check::product p = usual_product();
  p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  return p;
}

const register_operation here{{.name = "gemm_ex_tf32",
                               .step = {"cublasGemmEx", "tf32"},
                               .summary = "cublasGemmEx in TF32",
                               .fresh = fresh_product(gemm_ex_tf32_product(), by_gemm_ex),
                               .has_operand = true,
                               .lower_precision = "gemm_ex_half"}};

}  // namespace
}  // namespace cufault::operations
