// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmul in FP8, by any one driver call inside of it.
// Why          The first product by an algorithm loads its kernel; every product launches.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

argument_check::product described() {
  argument_check::product p = usual_product(CUDA_R_8F_E4M3, CUDA_R_16BF);
  p.function = argument_check::entry::cublas_lt;
  p.a_op = CUBLAS_OP_T;
  return p;
}

make_operation fresh_product() {
  return []() -> std::unique_ptr<operation> {
    if (trial::current().compute_capability() < 89)
      throw not_provoked("products of FP8 take a device of compute capability 8.9 or higher");
    return std::make_unique<light_product>(described());
  };
}

const register_case here{sweep_of("fp8", "cublasLtMatmul in FP8, each driver call failed", fresh_product())};

}  // namespace
}  // namespace cufault::sweeping
