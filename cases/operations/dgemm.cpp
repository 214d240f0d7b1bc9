// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasDgemm.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product dgemm_product() {
  argument_check::product p = usual_product(CUDA_R_64F, CUDA_R_64F);
  p.scalar = CUDA_R_64F;
  p.compute = CUBLAS_COMPUTE_64F;
  return p;
}

cublasStatus_t by_dgemm(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const auto doubles = [](const void* of) { return static_cast<const double*>(of); };
  return cublasDgemm(handle, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), doubles(d.alpha),
                     doubles(p.a.data()), narrow(d.a.leading_dimension), doubles(p.b.data()),
                     narrow(d.b.leading_dimension), doubles(d.beta), static_cast<double*>(p.c.data()),
                     narrow(d.c.leading_dimension));
}

// Apart: after a kernel broke (H200, cuBLAS 13.1.0), a cold call returned EXECUTION_FAILED where other operations were made ready in the process, and
// INTERNAL_ERROR alone.
const register_operation here{{.name = "dgemm",
                               .step = {"cublasDgemm"},
                               .summary = "cublasDgemm",
                               .fresh = fresh_product(dgemm_product(), by_dgemm),
                               .has_operand = true,
                               .lower_precision = "sgemm",
                               .apart = true}};

}  // namespace
}  // namespace cufault::operations
