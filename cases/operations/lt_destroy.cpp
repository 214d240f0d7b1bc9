// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtDestroy of a handle that has computed something.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class destroy_lt_handle final : public operation {
 public:
  void prepare() override {
    if (lt_ == nullptr) lt_.reset(new_lt_handle());
    CUFAULT_REQUIRE(lt_product(lt_.get()));
  }
  status_record make() override { return record_of(cublasLtDestroy(lt_.release())); }
  product_result check() override { return multiply(); }
  product_result multiply() override {
    cublasLtHandle_t lt = nullptr;
    product_result result{.status = cublasLtCreate(&lt)};
    if (result.status != CUBLAS_STATUS_SUCCESS) return result;
    result = lt_product(lt);
    cublasLtDestroy(lt);
    return result;
  }
  [[nodiscard]] cublasLtHandle_t lt() const override { return lt_.get(); }

 private:
  owned_lt_handle lt_;
};

const register_operation here{{.name = "lt_destroy",
                               .step = {"cublasLtDestroy"},
                               .summary = "cublasLtDestroy",
                               .fresh = fresh<destroy_lt_handle>,
                               .handle = own_handle::cublaslt,
                               .product = by_new_lt_handle}};

}  // namespace
}  // namespace cufault::operations
