// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy from pageable memory to the device.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class copied final : public without_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.assign(expected_.begin(), expected_.end());
    to_.poison();
  }
  status_record make() override {
    return record_of(cudaMemcpy(to_.data(), from_.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  static constexpr std::size_t count = 65536;
  std::vector<float> from_;
  guarded_array to_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{{.name = "cuda_memcpy_h2d",
                               .step = {"cudaMemcpy", "host_to_device"},
                               .summary = "cudaMemcpy to the device",
                               .fresh = fresh<copied>,
                               .handle = own_handle::none,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
