// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemv, by any one driver call inside of it.
// Why          As a product, with kernels of its own.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

argument_check::product described() {
  argument_check::product p = usual_product();
  p.n = 1;
  return p;
}

const register_case here{sweep_of_call(
    "gemv", "cublasSgemv, each driver call failed", described(),
    [](cublasHandle_t handle, checked_product& p) {
      const argument_check::product& d = p.described();
      return cublasSgemv(handle, CUBLAS_OP_N, static_cast<int>(d.m), static_cast<int>(d.k),
                         static_cast<const float*>(d.alpha), static_cast<const float*>(d.a.data),
                         static_cast<int>(d.a.leading_dimension), static_cast<const float*>(d.b.data), 1,
                         static_cast<const float*>(d.beta), static_cast<float*>(p.c.data()), 1);
    })};

}  // namespace
}  // namespace cufault::sweeping
