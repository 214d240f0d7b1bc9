// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasGemmEx in INT8, by any one driver call inside of it.
// Why          The first product of a kind loads its kernel; every product asks for attributes and launches.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

argument_check::product described() {
  argument_check::product p = usual_product(CUDA_R_8I, CUDA_R_32I);
  p.a_op = CUBLAS_OP_T;
  p.scalar = CUDA_R_32I;
  p.compute = CUBLAS_COMPUTE_32I;
  return p;
}

const register_case here{
    sweep_of_call("int8", "cublasGemmEx in INT8, each driver call failed", described(), by_gemm_ex)};

}  // namespace
}  // namespace cufault::sweeping
