// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasDestroy, by any one driver call inside of it.
// Why          A handle gives back streams, events and memory, and the driver can refuse each.
// Documented   cuBLAS documentation, cublasDestroy: NOT_INITIALIZED and SUCCESS alone.
// What helps   `cufault atlas` says what is left behind.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

class destroy final : public operation {
 public:
  /// A handle that has computed something.
  void prepare() override {
    handle_ = new_handle();
    require(product(handle_));
  }
  status_record make() override { return record_of(cublasDestroy(handle_)); }
  product_result check() override { return multiply(); }
  product_result multiply() override {
    cublasHandle_t handle = nullptr;
    product_result result{.status = cublasCreate(&handle)};
    if (result.status != CUBLAS_STATUS_SUCCESS) return result;
    result = product(handle);
    cublasDestroy(handle);
    return result;
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

const register_case here{sweep_of("cublas_destroy", "cublasDestroy, each driver call failed",
                                  [] { return std::make_unique<destroy>(); })};

}  // namespace
}  // namespace cufault::sweeping
