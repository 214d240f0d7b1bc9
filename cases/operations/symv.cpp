// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSsymv of the lower triangle: what is above the diagonal is another matrix.
#include "cases/operations/operations.hpp"
#include "cases/operations/triangles.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class product_with_vector final : public by_handle {
 public:
  void prepare() override {
    const auto a = small_numbers(std::size_t{n} * n, fresh_seed()), x = small_numbers(n, fresh_seed());
    a_.put(a);
    x_.put(x);
    y_.poison();
    expected_ = product_of(symmetric(a, n), x, n, 1, n);
  }
  status_record make() override {
    const float one = 1, zero = 0;
    return record_of(cublasSsymv(handle(), CUBLAS_FILL_MODE_LOWER, n, &one, floats(a_), n, floats(x_), 1,
                                 &zero, floats(y_), 1));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, y_, expected_); }

 private:
  static constexpr int n = 96;
  guarded_array a_{CUDA_R_32F, std::size_t{n} * n}, x_{CUDA_R_32F, n}, y_{CUDA_R_32F, n};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "symv", .step = {"cublasSsymv"}, .summary = "cublasSsymv", .fresh = fresh<product_with_vector>}};

}  // namespace
}  // namespace cufault::operations
