// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasCreate asks the driver for hundreds of things, and tells its caller with one status which of them it did not get. cuBLAS
// documentation: NOT_INITIALIZED, ALLOC_FAILED, INVALID_VALUE.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class create_handle final : public operation {
 public:
  status_record make() override {
    cublasHandle_t handle = nullptr;
    const cublasStatus_t status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) made_.emplace_back(handle);
    return record_of(status);
  }
  product_result check() override { return product(made_.back().get()); }
  product_result multiply() override {
    return made_.empty() ? product_result{.status = CUBLAS_STATUS_NOT_INITIALIZED}
                         : product(made_.back().get());
  }

 private:
  std::vector<owned_handle> made_;
};

// Apart: on a full H200 with eager loading (cuBLAS 13.1.0) a cold call returned NOT_INITIALIZED alone, and ALLOC_FAILED where other operations were
// made ready in the process. One that failed can keep later ones from working (faults/failed_create.cpp).
const register_operation here{{.name = "cublas_create",
                               .step = {"cublasCreate"},
                               .summary = "cublasCreate",
                               .fresh = fresh<create_handle>,
                               .handle = own_handle::none,
                               .needs_context = false,
                               .representative = true,
                               .apart = true}};

}  // namespace
}  // namespace cufault::operations
