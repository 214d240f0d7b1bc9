// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemmBatched: arrays of pointers, in device memory.
#include "cases/operations/batched_product.hpp"

namespace cufault::operations {
namespace {

class batched final : public batched_product {
 public:
  status_record make() override {
    const argument_check::product& d = products.described();
    const float one = 1, zero = 0;
    return record_of(cublasSgemmBatched(handle(), d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), &one,
                                        pointers(0), narrow(d.a.leading_dimension), pointers(1),
                                        narrow(d.b.leading_dimension), &zero, pointers(2),
                                        narrow(d.c.leading_dimension), count));
  }
};

const register_operation here{{.name = "gemm_batched",
                               .step = {"cublasSgemmBatched"},
                               .summary = "cublasSgemmBatched",
                               .fresh = fresh<batched>,
                               .lower_precision = "gemm_batched_half"}};

}  // namespace
}  // namespace cufault::operations
