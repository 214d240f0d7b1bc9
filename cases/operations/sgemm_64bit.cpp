// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm_64: extents of 64 bits.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

cublasStatus_t by_sgemm_64(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  return cublasSgemm_64(handle, d.a_op, d.b_op, d.m, d.n, d.k, static_cast<const float*>(d.alpha),
                        floats(p.a), d.a.leading_dimension, floats(p.b), d.b.leading_dimension,
                        static_cast<const float*>(d.beta), floats(p.c), d.c.leading_dimension);
}

const register_operation here{{.name = "sgemm_64bit",
                               .step = {"cublasSgemm_64"},
                               .summary = "cublasSgemm_64",
                               .fresh = fresh_product(usual_product(), by_sgemm_64),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
