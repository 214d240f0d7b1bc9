// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasGetMatrix, by any one driver call inside of it.
// Why          It is a copy, on a device that must be current and idle enough.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cufault::sweeping {
namespace {

class get_matrix final : public by_handle {
 public:
  get_matrix() {
    require(cudaMalloc(&on_device_, bytes));
    std::iota(from_.begin(), from_.end(), 1.0F);
  }
  ~get_matrix() override { cudaFree(on_device_); }
  void prepare() override {
    require(cudaMemcpy(on_device_, from_.data(), bytes, cudaMemcpyDefault));
    std::fill(to_.begin(), to_.end(), -1.0F);
  }
  status_record make() override {
    return record_of(cublasGetMatrix(rows, columns, sizeof(float), on_device_, rows, to_.data(), rows));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    result.right = to_ == from_;
    return result;
  }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t bytes = sizeof(float) * rows * columns;
  std::vector<float> from_ = std::vector<float>(std::size_t{rows} * columns);
  std::vector<float> to_ = std::vector<float>(std::size_t{rows} * columns);
  void* on_device_ = nullptr;
};

const register_case here{sweep_of("get_matrix", "cublasGetMatrix, each driver call failed",
                                  [] { return std::make_unique<get_matrix>(); })};

}  // namespace
}  // namespace cufault::sweeping
