// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSaxpy: 2 x + y, in place.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class sum final : public by_handle {
 public:
  void prepare() override {
    const auto x = small_numbers(count, fresh_seed());
    expected_ = small_numbers(count, fresh_seed());
    x_.put(x);
    y_.put(expected_);
    for (std::size_t i = 0; i < count; ++i) expected_[i] += 2 * x[i];
  }
  status_record make() override {
    const float two = 2;
    return record_of(cublasSaxpy(handle(), count, &two, floats(x_), 1, floats(y_), 1));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, y_, expected_); }

 private:
  static constexpr int count = 65536;
  guarded_array x_{CUDA_R_32F, count}, y_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "axpy", .step = {"cublasSaxpy"}, .summary = "cublasSaxpy", .fresh = fresh<sum>}};

}  // namespace
}  // namespace cufault::operations
