// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul in FP8 by the first algorithm of the heuristic: A is transposed, as Hopper has it.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product fp8_product() {
  argument_check::product p = usual_product(CUDA_R_8F_E4M3, CUDA_R_16BF);
  p.function = argument_check::entry::cublas_lt;
  p.a_op = CUBLAS_OP_T;
  return p;
}

std::unique_ptr<operation> fresh_fp8() {
  if (trial::current().compute_capability() < 89)
    throw not_provoked("products of FP8 take a device of compute capability 8.9 or higher");
  return std::make_unique<lt_matmul_operation>(fp8_product());
}

const register_operation here{{.name = "fp8",
                               .step = {"cublasLtMatmul", "fp8_first_algorithm"},
                               .summary = "cublasLtMatmul in FP8",
                               .fresh = fresh_fp8,
                               .has_operand = true,
                               .handle = own_handle::cublaslt,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
