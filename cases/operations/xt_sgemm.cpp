// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasXtSgemm of 96 x 80 x 64 on the trial's device alone: operands in host memory, and streams and device memory of its own. The first call
// uses a handle that has computed nothing.
#include "cases/operations/operations.hpp"

#include <cublasXt.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cufault::operations {
namespace {

class xt_sgemm final : public without_handle {
 public:
  xt_sgemm() {
    cublasXtHandle_t made = nullptr;
    CUFAULT_REQUIRE(cublasXtCreate(&made));
    handle_.reset(made);
    int device = 0;
    CUFAULT_REQUIRE(cudaGetDevice(&device));
    CUFAULT_REQUIRE(cublasXtDeviceSelect(made, 1, &device));
  }
  void prepare() override {
    const auto a = small_numbers(std::size_t{m} * k, fresh_seed()),
               b = small_numbers(std::size_t{k} * n, fresh_seed());
    a_.assign(a.begin(), a.end());
    b_.assign(b.begin(), b.end());
    c_.assign(std::size_t{m} * n, NAN);
    expected_ = product_of(a, b, m, n, k);
  }
  status_record make() override {
    const float one = 1, zero = 0;
    return record_of(cublasXtSgemm(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a_.data(), m,
                                   b_.data(), k, &zero, c_.data(), m));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    result.right = std::equal(c_.begin(), c_.end(), expected_.begin(), expected_.end());
    return result;
  }

 private:
  static constexpr int m = 96, n = 80, k = 64;
  std::unique_ptr<cublasXtContext, destroy_by<cublasXtDestroy>> handle_;
  std::vector<float> a_, b_, c_;
  std::vector<double> expected_;
};

const register_operation here{{.name = "xt_sgemm",
                               .step = {"cublasXtSgemm"},
                               .summary = "cublasXtSgemm",
                               .fresh = fresh<xt_sgemm>,
                               .handle = own_handle::none,
                               .uses_private_stream = true,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
