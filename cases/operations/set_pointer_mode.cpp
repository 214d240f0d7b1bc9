// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetPointerMode.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class set_pointer_mode final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST)); }
  status_record make() override {
    return record_of(cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_DEVICE));
  }
  product_result check() override {
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    product_result result{.status = cublasGetPointerMode(handle(), &mode)};
    if (result.status == CUBLAS_STATUS_SUCCESS) result = multiply();
    result.right = result.right && mode == CUBLAS_POINTER_MODE_DEVICE;
    return result;
  }
  product_result multiply() override {
    cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST);  // its scalars are on the host
    return by_handle::multiply();
  }
};

const register_operation here{{.name = "set_pointer_mode",
                               .step = {"cublasSetPointerMode"},
                               .summary = "cublasSetPointerMode",
                               .fresh = fresh<set_pointer_mode>}};

}  // namespace
}  // namespace cufault::operations
