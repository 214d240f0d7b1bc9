// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasCgemm, of numbers without imaginary parts.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

argument_check::product cgemm_product() {
  argument_check::product p = usual_product(CUDA_C_32F, CUDA_C_32F);
  p.scalar = CUDA_C_32F;
  return p;
}

cublasStatus_t by_cgemm(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const auto complex = [](const void* of) { return static_cast<const cuComplex*>(of); };
  return cublasCgemm(handle, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), complex(d.alpha),
                     complex(p.a.data()), narrow(d.a.leading_dimension), complex(p.b.data()),
                     narrow(d.b.leading_dimension), complex(d.beta), static_cast<cuComplex*>(p.c.data()),
                     narrow(d.c.leading_dimension));
}

const register_operation here{{.name = "cgemm",
                               .step = {"cublasCgemm"},
                               .summary = "cublasCgemm",
                               .fresh = fresh_product(cgemm_product(), by_cgemm),
                               .has_operand = true}};

}  // namespace
}  // namespace cufault::operations
