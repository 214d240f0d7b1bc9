// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetMathMode.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class set_math_mode final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(cublasSetMathMode(handle(), CUBLAS_DEFAULT_MATH)); }
  status_record make() override { return record_of(cublasSetMathMode(handle(), CUBLAS_PEDANTIC_MATH)); }
  product_result check() override {
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    product_result result{.status = cublasGetMathMode(handle(), &mode)};
    if (result.status == CUBLAS_STATUS_SUCCESS) result = multiply();
    result.right = result.right && mode == CUBLAS_PEDANTIC_MATH;
    return result;
  }
};

const register_operation here{{.name = "set_math_mode",
                               .step = {"cublasSetMathMode"},
                               .summary = "cublasSetMathMode",
                               .fresh = fresh<set_math_mode>}};

}  // namespace
}  // namespace cufault::operations
