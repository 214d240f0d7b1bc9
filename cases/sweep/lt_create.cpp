// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtCreate, by any one driver call inside of it.
// Why          It asks the driver for what cublasCreate asks for, but makes no stream and no memory of its own.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <vector>

namespace cufault::sweeping {
namespace {

class create final : public operation {
 public:
  ~create() override {
    for (cublasLtHandle_t each : made_) cublasLtDestroy(each);
  }
  status_record make() override {
    cublasLtHandle_t light = nullptr;
    const cublasStatus_t status = cublasLtCreate(&light);
    if (status == CUBLAS_STATUS_SUCCESS) made_.push_back(light);
    return record_of(status);
  }
  product_result check() override { return lt_product(made_.back()); }
  product_result multiply() override {
    return made_.empty() ? product_result{.status = CUBLAS_STATUS_NOT_INITIALIZED} : lt_product(made_.back());
  }

 private:
  std::vector<cublasLtHandle_t> made_;
};

const register_case here{sweep_case({.name = "lt_create",
                                     .summary = "cublasLtCreate, each driver call failed",
                                     .fresh = [] { return std::make_unique<create>(); },
                                     .opens_context = false})};

}  // namespace
}  // namespace cufault::sweeping
