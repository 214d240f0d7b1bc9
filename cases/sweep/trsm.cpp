// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasStrsm, by any one driver call inside of it.
// Why          As a product, with kernels of its own.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"
#include "harness/elements.hpp"

#include <vector>

namespace cufault::sweeping {
namespace {

/// X of A X = B, where A has ones on the diagonal and below it: whole numbers, so that X is exact.
class solve final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    std::vector<double> a(std::size_t{rows} * rows), b = expected_;
    for (std::size_t i = 0; i < rows; ++i) {
      a[i * (rows + 1)] = 1;
      if (i + 1 < rows) a[i * (rows + 1) + 1] = 1;
    }
    for (std::size_t i = 0; i < count; ++i)
      if (i % rows != 0) b[i] += expected_[i - 1];
    a_.put(a);
    x_.put(b);
  }
  status_record make() override {
    const float one = 1;
    return record_of(cublasStrsm(handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                 CUBLAS_DIAG_NON_UNIT, rows, columns, &one, static_cast<float*>(a_.data()),
                                 rows, static_cast<float*>(x_.data()), rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, x_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  guarded_array a_{CUDA_R_32F, std::size_t{rows} * rows}, x_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_case here{
    sweep_of("trsm", "cublasStrsm, each driver call failed", [] { return std::make_unique<solve>(); })};

}  // namespace
}  // namespace cufault::sweeping
