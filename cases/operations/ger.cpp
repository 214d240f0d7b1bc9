// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSger: A + x y^T, in place.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class rank_one final : public by_handle {
 public:
  void prepare() override {
    const auto x = small_numbers(rows, fresh_seed()), y = small_numbers(columns, fresh_seed()),
               a = small_numbers(std::size_t{rows} * columns, fresh_seed());
    x_.put(x);
    y_.put(y);
    a_.put(a);
    expected_ = product_of(x, y, rows, columns, 1);
    for (std::size_t i = 0; i < a.size(); ++i) expected_[i] += a[i];
  }
  status_record make() override {
    const float one = 1;
    return record_of(
        cublasSger(handle(), rows, columns, &one, floats(x_), 1, floats(y_), 1, floats(a_), rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, a_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  guarded_array x_{CUDA_R_32F, rows}, y_{CUDA_R_32F, columns}, a_{CUDA_R_32F, std::size_t{rows} * columns};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "ger", .step = {"cublasSger"}, .summary = "cublasSger", .fresh = fresh<rank_one>}};

}  // namespace
}  // namespace cufault::operations
