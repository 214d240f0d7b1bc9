// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMemset of device memory.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class set final : public without_handle {
 public:
  void prepare() override { to_.poison(); }
  status_record make() override { return record_of(cudaMemset(to_.data(), 0, count * sizeof(float))); }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, std::vector<double>(count)); }

 private:
  static constexpr std::size_t count = 65536;
  guarded_array to_{CUDA_R_32F, count};
};

const register_operation here{{.name = "cuda_memset",
                               .step = {"cudaMemset"},
                               .summary = "cudaMemset",
                               .fresh = fresh<set>,
                               .handle = own_handle::none,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
