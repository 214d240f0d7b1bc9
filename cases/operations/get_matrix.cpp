// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGetMatrix: a copy to pageable memory, for which the call waits.
#include "cases/operations/operations.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cufault::operations {
namespace {

class get_matrix final : public by_handle {
 public:
  get_matrix() { std::iota(from_.begin(), from_.end(), 1.0F); }
  void prepare() override {
    CUFAULT_REQUIRE(cudaMemcpy(on_device_.get(), from_.data(), bytes, cudaMemcpyDefault));
    std::fill(to_.begin(), to_.end(), -1.0F);
  }
  status_record make() override {
    return record_of(cublasGetMatrix(rows, columns, sizeof(float), on_device_.get(), rows, to_.data(), rows));
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
  owned_memory on_device_ = new_memory(bytes);
};

const register_operation here{{.name = "get_matrix",
                               .step = {"cublasGetMatrix"},
                               .summary = "cublasGetMatrix",
                               .fresh = fresh<get_matrix>}};

}  // namespace
}  // namespace cufault::operations
