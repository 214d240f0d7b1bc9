// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemm with so long a k that it is split, by any one driver call inside of it.
// Why          Its parts meet in the workspace of the handle, which is as large as the first of them may ask for.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

class split final : public by_handle {
 public:
  split() { require(cudaMalloc(&block_, product_bytes(summed))); }
  ~split() override { cudaFree(block_); }
  void prepare() override { require(prepare_product(summed, block_, fresh_seed(), &on_)); }
  status_record make() override {
    const auto& [m, n, k] = summed;
    const float one = 1, zero = 0;
    return record_of(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_.a, m, on_.b, k, &zero,
                                 on_.c, summed.ldc()));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    product_check checked;
    if (result.waited == cudaSuccess) result.waited = check_product(summed, block_, &checked);
    result.right = result.waited == cudaSuccess && checked.right();
    return result;
  }

 private:
  static constexpr product_extents summed{.m = 96, .n = 64, .k = 65536};
  void* block_ = nullptr;
  product_operands on_{};
};

const register_case here{sweep_of("split_k", "cublasSgemm that splits k, each driver call failed",
                                  [] { return std::make_unique<split>(); })};

}  // namespace
}  // namespace cufault::sweeping
