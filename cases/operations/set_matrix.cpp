// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetMatrix: a copy from pageable memory, for which the call waits.
#include "cases/operations/operations.hpp"

#include <numeric>
#include <vector>

namespace cufault::operations {
namespace {

class set_matrix final : public by_handle {
 public:
  set_matrix() { std::iota(from_.begin(), from_.end(), 1.0F); }
  void prepare() override { CUFAULT_REQUIRE(cudaMemset(on_device_.get(), 0xff, bytes)); }
  status_record make() override {
    return record_of(
        cublasSetMatrix(rows, columns, sizeof(float), from_.data(), rows, on_device_.get(), rows));
  }
  product_result check() override {
    std::vector<float> back(from_.size());
    product_result result{.waited = cudaMemcpy(back.data(), on_device_.get(), bytes, cudaMemcpyDefault)};
    result.right = back == from_;
    return result;
  }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t bytes = sizeof(float) * rows * columns;
  std::vector<float> from_ = std::vector<float>(std::size_t{rows} * columns);
  owned_memory on_device_ = new_memory(bytes);
};

const register_operation here{{.name = "set_matrix",
                               .step = {"cublasSetMatrix"},
                               .summary = "cublasSetMatrix",
                               .fresh = fresh<set_matrix>}};

}  // namespace
}  // namespace cufault::operations
