// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, by any one driver call inside of it: the first of a process, and one that is not.
// Why          It asks the driver for hundreds of things, and tells its caller with one status which of them it did not get.
// Documented   Nowhere: cuBLAS documentation, cublasCreate, has NOT_INITIALIZED, ALLOC_FAILED and INVALID_VALUE.
// What helps   `cufault atlas` says for each status which driver failures lead to it.
#include "cases/sweep/operations.hpp"

#include <vector>

namespace cufault::sweeping {
namespace {

class create final : public operation {
 public:
  ~create() override {
    for (cublasHandle_t each : made_) cublasDestroy(each);
  }
  status_record make() override {
    cublasHandle_t handle = nullptr;
    const cublasStatus_t status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) made_.push_back(handle);
    return record_of(status);
  }
  product_result check() override { return product(made_.back()); }
  product_result multiply() override {
    return made_.empty() ? product_result{.status = CUBLAS_STATUS_NOT_INITIALIZED} : product(made_.back());
  }

 private:
  std::vector<cublasHandle_t> made_;
};

const register_case here{sweep_case({.name = "cublas_create",
                                     .summary = "cublasCreate, each driver call failed",
                                     .fresh = [] { return std::make_unique<create>(); },
                                     .opens_context = false})};

}  // namespace
}  // namespace cufault::sweeping
