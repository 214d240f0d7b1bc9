// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A kernel of this program that fills an array.
#include "cases/operations/operations.hpp"
#include "kernels/faults.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class fill final : public without_handle {
 public:
  void prepare() override {
    to_.poison();
    value_ = static_cast<float>(fresh_seed() % 1000);
  }
  status_record make() override { return record_of(launch_fill(floats(to_), count, value_, nullptr)); }
  product_result check() override {
    return compared(CUBLAS_STATUS_SUCCESS, to_, std::vector<double>(count, value_));
  }

 private:
  static constexpr std::size_t count = 65536;
  guarded_array to_{CUDA_R_32F, count};
  float value_ = 0;
};

// Apart: with lazy loading a kernel is loaded at its first launch, and other operations launch this one, too.
const register_operation here{{.name = "kernel_launch",
                               .step = {"cudaLaunchKernelExC", "fill"},
                               .summary = "a launch of a kernel",
                               .fresh = fresh<fill>,
                               .handle = own_handle::none,
                               .representative = true,
                               .apart = true,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
