// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmEx of INT8 into INT32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product int8_product() {
  argument_check::product p = usual_product(CUDA_R_8I, CUDA_R_32I);
  p.a_op = CUBLAS_OP_T;
  p.scalar = CUDA_R_32I;
  p.compute = CUBLAS_COMPUTE_32I;
  return p;
}

const register_operation here{{.name = "int8",
                               .step = {"cublasGemmEx", "int8"},
                               .summary = "cublasGemmEx in INT8",
                               .fresh = fresh_product(int8_product(), by_gemm_ex),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
