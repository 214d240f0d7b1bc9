// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGemmBatchedEx in FP16: arrays of pointers, in device memory.
#include "cases/operations/batched_product.hpp"

namespace cufault::operations {
namespace {

class batched_half final : public batched_product {
 public:
  batched_half() : batched_product(usual_product(CUDA_R_16F, CUDA_R_16F)) {}
  status_record make() override {
    const argument_check::product& d = products.described();
    return record_of(cublasGemmBatchedEx(
        handle(), d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), d.alpha, pointers<const void>(0),
        d.a.type, narrow(d.a.leading_dimension), pointers<const void>(1), d.b.type,
        narrow(d.b.leading_dimension), d.beta, pointers<void>(2), d.c.type, narrow(d.c.leading_dimension),
        count, d.compute, CUBLAS_GEMM_DEFAULT));
  }
};

const register_operation here{{.name = "gemm_batched_half",
                               .step = {"cublasGemmBatchedEx", "fp16"},
                               .summary = "cublasGemmBatchedEx in FP16",
                               .fresh = fresh<batched_half>}};

}  // namespace
}  // namespace cufault::operations
