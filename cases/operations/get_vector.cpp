// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGetVector to every second element of pageable memory, for which the call waits.
#include "cases/operations/operations.hpp"

#include <algorithm>
#include <vector>

namespace cufault::operations {
namespace {

class get_vector final : public by_handle {
 public:
  void prepare() override {
    const auto numbers = small_numbers(count, fresh_seed());
    from_.put(numbers);
    std::fill(to_.begin(), to_.end(), -99.0F);
    expected_ = to_;
    for (std::size_t i = 0; i < count; ++i) expected_[2 * i] = static_cast<float>(numbers[i]);
  }
  status_record make() override {
    return record_of(cublasGetVector(count, sizeof(float), from_.data(), 1, to_.data(), 2));
  }
  product_result check() override { return {.waited = cudaDeviceSynchronize(), .right = to_ == expected_}; }

 private:
  static constexpr int count = 7680;
  guarded_array from_{CUDA_R_32F, count};
  std::vector<float> to_ = std::vector<float>(std::size_t{2} * count), expected_;
};

const register_operation here{{.name = "get_vector",
                               .step = {"cublasGetVector"},
                               .summary = "cublasGetVector",
                               .fresh = fresh<get_vector>}};

}  // namespace
}  // namespace cufault::operations
