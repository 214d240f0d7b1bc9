// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemvStridedBatched.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product gemv_batched_product() {
  argument_check::product p = usual_product();
  p.n = 1;
  p.batch = 3;
  return p;
}

cublasStatus_t by_gemv_batched(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  return cublasSgemvStridedBatched(
      handle, CUBLAS_OP_N, static_cast<int>(d.m), static_cast<int>(d.k), static_cast<const float*>(d.alpha),
      floats(p.a), static_cast<int>(d.a.leading_dimension), d.a.stride, floats(p.b), 1, d.b.stride,
      static_cast<const float*>(d.beta), floats(p.c), 1, d.c.stride, static_cast<int>(d.batch));
}

const register_operation here{{.name = "gemv_batched",
                               .step = {"cublasSgemvStridedBatched"},
                               .summary = "cublasSgemvStridedBatched",
                               .fresh = fresh_product(gemv_batched_product(), by_gemv_batched),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
