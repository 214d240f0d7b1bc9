// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtCreate asks the driver for what cublasCreate asks for, but makes no stream and no memory of its own.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class create_lt_handle final : public operation {
 public:
  status_record make() override {
    cublasLtHandle_t lt = nullptr;
    const cublasStatus_t status = cublasLtCreate(&lt);
    if (status == CUBLAS_STATUS_SUCCESS) made_.emplace_back(lt);
    return record_of(status);
  }
  product_result check() override { return lt_product(made_.back().get()); }
  product_result multiply() override {
    return made_.empty() ? product_result{.status = CUBLAS_STATUS_NOT_INITIALIZED}
                         : lt_product(made_.back().get());
  }

 private:
  std::vector<owned_lt_handle> made_;
};

// Apart: after a kernel broke (H200, cuBLAS 13.1.0), a cold call returned INTERNAL_ERROR alone, and NOT_INITIALIZED where other operations were made
// ready in the process.
const register_operation here{{.name = "lt_create",
                               .step = {"cublasLtCreate"},
                               .summary = "cublasLtCreate",
                               .fresh = fresh<create_lt_handle>,
                               .handle = own_handle::none,
                               .needs_context = false,
                               .representative = true,
                               .apart = true,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
