// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemmBatched, by any one driver call inside of it.
// Why          As one product, with arrays of pointers.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/batched_product.hpp"

namespace cufault::sweeping {
namespace {

class batched final : public batched_product {
 public:
  status_record make() override {
    const argument_check::product& d = product_.described();
    const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
    const float one = 1, zero = 0;
    return record_of(cublasSgemmBatched(handle_, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), &one,
                                        pointers(0), narrow(d.a.leading_dimension), pointers(1),
                                        narrow(d.b.leading_dimension), &zero, pointers(2),
                                        narrow(d.c.leading_dimension), count));
  }
};

const register_case here{sweep_of("gemm_batched", "cublasSgemmBatched, each driver call failed",
                                  [] { return std::make_unique<batched>(); })};

}  // namespace
}  // namespace cufault::sweeping
