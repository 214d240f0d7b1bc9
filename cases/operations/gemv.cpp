// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemv: kernels of its own.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product gemv_product() {
  argument_check::product p = usual_product();
  p.n = 1;
  return p;
}

cublasStatus_t by_gemv(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  return cublasSgemv(handle, CUBLAS_OP_N, static_cast<int>(d.m), static_cast<int>(d.k),
                     static_cast<const float*>(d.alpha), floats(p.a), static_cast<int>(d.a.leading_dimension),
                     floats(p.b), 1, static_cast<const float*>(d.beta), floats(p.c), 1);
}

const register_operation here{{.name = "gemv",
                               .step = {"cublasSgemv"},
                               .summary = "cublasSgemv",
                               .fresh = fresh_product(gemv_product(), by_gemv),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
