// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSscal: 3 x, in place.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class scaled final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    x_.put(expected_);
    for (double& each : expected_) each *= 3;
  }
  status_record make() override {
    const float three = 3;
    return record_of(cublasSscal(handle(), count, &three, floats(x_), 1));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, x_, expected_); }

 private:
  static constexpr int count = 65536;
  guarded_array x_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "scal", .step = {"cublasSscal"}, .summary = "cublasSscal", .fresh = fresh<scaled>}};

}  // namespace
}  // namespace cufault::operations
