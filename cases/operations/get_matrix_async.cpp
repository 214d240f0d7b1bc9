// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGetMatrixAsync to pinned memory, on a stream of its own.
#include "cases/operations/pinned.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class get_matrix_async final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.put(expected_);
    to_.put(std::vector<double>(count, -99));
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  status_record make() override {
    return record_of(cublasGetMatrixAsync(rows, columns, sizeof(float), from_.data(), rows, to_.data(), rows,
                                          stream_.get()));
  }
  product_result check() override {
    return proved(CUBLAS_STATUS_SUCCESS, [&] { return to_.holds(expected_) && from_.guards_intact(); });
  }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  owned_stream stream_ = new_stream();
  guarded_array from_{CUDA_R_32F, count};
  pinned_array to_{count};
  std::vector<double> expected_;
};

const register_operation here{{.name = "get_matrix_async",
                               .step = {"cublasGetMatrixAsync"},
                               .summary = "cublasGetMatrixAsync",
                               .fresh = fresh<get_matrix_async>}};

}  // namespace
}  // namespace cufault::operations
