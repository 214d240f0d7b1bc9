// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasDestroy of a handle that has computed something: it gives back streams, events and memory. cuBLAS documentation: NOT_INITIALIZED.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class destroy_handle final : public operation {
 public:
  void prepare() override {
    if (handle_ == nullptr) handle_.reset(new_handle());
    CUFAULT_REQUIRE(product(handle_.get()));
  }
  status_record make() override { return record_of(cublasDestroy(handle_.release())); }
  product_result check() override { return multiply(); }
  product_result multiply() override { return product_by_new_handle(); }
  [[nodiscard]] cublasHandle_t handle() const override { return handle_.get(); }

 private:
  owned_handle handle_;
};

const register_operation here{{.name = "cublas_destroy",
                               .step = {"cublasDestroy"},
                               .summary = "cublasDestroy",
                               .fresh = fresh<destroy_handle>,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
