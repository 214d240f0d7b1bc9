// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSetMatrix, by any one driver call inside of it.
// Why          It is a copy, on a device that must be current and idle enough.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cufault::sweeping {
namespace {

class set_matrix final : public by_handle {
 public:
  set_matrix() {
    require(cudaMalloc(&on_device_, bytes));
    std::iota(from_.begin(), from_.end(), 1.0F);
  }
  ~set_matrix() override { cudaFree(on_device_); }
  void prepare() override { require(cudaMemset(on_device_, 0xff, bytes)); }
  status_record make() override {
    return record_of(cublasSetMatrix(rows, columns, sizeof(float), from_.data(), rows, on_device_, rows));
  }
  product_result check() override {
    std::vector<float> back(from_.size());
    product_result result{.waited = cudaMemcpy(back.data(), on_device_, bytes, cudaMemcpyDefault)};
    result.right = back == from_;
    return result;
  }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t bytes = sizeof(float) * rows * columns;
  std::vector<float> from_ = std::vector<float>(std::size_t{rows} * columns);
  void* on_device_ = nullptr;
};

const register_case here{sweep_of("set_matrix", "cublasSetMatrix, each driver call failed",
                                  [] { return std::make_unique<set_matrix>(); })};

}  // namespace
}  // namespace cufault::sweeping
