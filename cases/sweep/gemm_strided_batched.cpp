// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasGemmStridedBatchedEx, by any one driver call inside of it.
// Why          As one product, with a batch.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

argument_check::product described() {
  argument_check::product p = usual_product();
  p.batch = 3;
  return p;
}

const register_case here{sweep_of_call(
    "gemm_strided_batched", "cublasGemmStridedBatchedEx, each driver call failed", described(), by_gemm_ex)};

}  // namespace
}  // namespace cufault::sweeping
