// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemmGroupedBatched: arrays of pointers, in groups. Since CUDA 12.4.
#include "cases/operations/batched_product.hpp"

namespace cufault::operations {
namespace {

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
class grouped_products final : public batched_product {
 public:
  status_record make() override {
    const argument_check::product& d = products.described();
    const int m = narrow(d.m), n = narrow(d.n), k = narrow(d.k), lda = narrow(d.a.leading_dimension),
              ldb = narrow(d.b.leading_dimension), ldc = narrow(d.c.leading_dimension), size = count;
    const float one = 1, zero = 0;
    return record_of(cublasSgemmGroupedBatched(handle(), &d.a_op, &d.b_op, &m, &n, &k, &one, pointers(0),
                                               &lda, pointers(1), &ldb, &zero, pointers(2), &ldc, 1, &size));
  }
};

const make_operation fresh_groups = fresh<grouped_products>;
#else
const make_operation fresh_groups = []() -> std::unique_ptr<operation> {
  throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
};
#endif

const register_operation here{{.name = "gemm_grouped",
                               .step = {"cublasSgemmGroupedBatched"},
                               .summary = "cublasSgemmGroupedBatched",
                               .fresh = fresh_groups}};

}  // namespace
}  // namespace cufault::operations
