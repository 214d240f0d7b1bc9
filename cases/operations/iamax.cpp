// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasIsamax with its result in host memory: the call waits for it.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class largest final : public by_handle {
 public:
  void prepare() override {
    const std::uint64_t seed = fresh_seed();
    auto x = small_numbers(count, seed);
    const std::size_t at = seed % count;
    x[at] = -8;
    x_.put(x);
    expected_ = static_cast<int>(at) + 1;  // from 1, as in Fortran
    found_ = 0;
  }
  status_record make() override { return record_of(cublasIsamax(handle(), count, floats(x_), 1, &found_)); }
  product_result check() override {
    return {.waited = cudaDeviceSynchronize(), .right = found_ == expected_};
  }

 private:
  static constexpr int count = 65536;
  guarded_array x_{CUDA_R_32F, count};
  int expected_ = 0, found_ = 0;
};

const register_operation here{{.name = "iamax",
                               .step = {"cublasIsamax", "host_result"},
                               .summary = "cublasIsamax, its result on the host",
                               .fresh = fresh<largest>}};

}  // namespace
}  // namespace cufault::operations
