// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetMatrixAsync from pinned memory, on a stream of its own.
#include "cases/operations/pinned.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class set_matrix_async final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.put(expected_);
    to_.poison();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  status_record make() override {
    return record_of(cublasSetMatrixAsync(rows, columns, sizeof(float), from_.data(), rows, to_.data(), rows,
                                          stream_.get()));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  owned_stream stream_ = new_stream();
  pinned_array from_{count};
  guarded_array to_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{{.name = "set_matrix_async",
                               .step = {"cublasSetMatrixAsync"},
                               .summary = "cublasSetMatrixAsync",
                               .fresh = fresh<set_matrix_async>}};

}  // namespace
}  // namespace cufault::operations
