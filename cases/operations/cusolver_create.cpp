// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cusolverDnCreate. cuSOLVER documentation: NOT_INITIALIZED, ALLOC_FAILED, ARCH_MISMATCH.
#include "cases/operations/operations.hpp"

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>

#include <vector>
#endif

namespace cufault::operations {
namespace {

#if __has_include(<cusolverDn.h>)
class create_solver final : public without_handle {
 public:
  status_record make() override {
    cusolverDnHandle_t handle = nullptr;
    const cusolverStatus_t status = cusolverDnCreate(&handle);
    if (status == CUSOLVER_STATUS_SUCCESS) made_.emplace_back(handle);
    return record_of(status);
  }
  product_result check() override { return product_by_new_handle(); }

 private:
  std::vector<std::unique_ptr<cusolverDnContext, destroy_by<cusolverDnDestroy>>> made_;
};
constexpr auto fresh_solver = fresh<create_solver>;
#else
constexpr auto fresh_solver = without_headers;
#endif

const register_operation here{{.name = "cusolver_create",
                               .step = {"cusolverDnCreate"},
                               .summary = "cusolverDnCreate",
                               .fresh = fresh_solver,
                               .handle = own_handle::none,
                               .needs_context = false,
                               .apart = true,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
