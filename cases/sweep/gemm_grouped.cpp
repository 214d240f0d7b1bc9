// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemmGroupedBatched, by any one driver call inside of it.
// Why          As one product, with arrays of pointers, in groups.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/batched_product.hpp"

namespace cufault::sweeping {
namespace {

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
class grouped_products final : public batched_product {
 public:
  status_record make() override {
    const argument_check::product& d = product_.described();
    const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
    const int m = narrow(d.m), n = narrow(d.n), k = narrow(d.k), lda = narrow(d.a.leading_dimension),
              ldb = narrow(d.b.leading_dimension), ldc = narrow(d.c.leading_dimension), size = count;
    const float one = 1, zero = 0;
    return record_of(cublasSgemmGroupedBatched(handle_, &d.a_op, &d.b_op, &m, &n, &k, &one, pointers(0), &lda,
                                               pointers(1), &ldb, &zero, pointers(2), &ldc, 1, &size));
  }
};

const make_operation fresh = [] { return std::make_unique<grouped_products>(); };
#else
const make_operation fresh = []() -> std::unique_ptr<operation> {
  throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
};
#endif

const register_case here{
    sweep_of("gemm_grouped", "cublasSgemmGroupedBatched, each driver call failed", fresh)};

}  // namespace
}  // namespace cufault::sweeping
