// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSsyrk, A A^T into the lower triangle: what is above the diagonal stays poisoned.
#include "cases/operations/operations.hpp"
#include "cases/operations/triangles.hpp"

#include <cmath>
#include <vector>

namespace cufault::operations {
namespace {

class rank_k final : public by_handle {
 public:
  void prepare() override {
    const auto a = small_numbers(std::size_t{n} * k, fresh_seed());
    std::vector<double> transposed(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) transposed[i % n * k + i / n] = a[i];
    a_.put(a);
    c_.poison();
    expected_ = lower_triangle(product_of(a, transposed, n, n, k), n, NAN);
  }
  status_record make() override {
    const float one = 1, zero = 0;
    return record_of(cublasSsyrk(handle(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one, floats(a_), n,
                                 &zero, floats(c_), n));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int n = 96, k = 64;
  guarded_array a_{CUDA_R_32F, std::size_t{n} * k}, c_{CUDA_R_32F, std::size_t{n} * n};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "syrk", .step = {"cublasSsyrk"}, .summary = "cublasSsyrk", .fresh = fresh<rank_k>}};

}  // namespace
}  // namespace cufault::operations
