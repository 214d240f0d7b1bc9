// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaEventCreate; the event is recorded and waited for.
#include "cases/operations/operations.hpp"

#include <memory>

namespace cufault::operations {
namespace {

class create_event final : public without_handle {
 public:
  void prepare() override { event_.reset(); }
  status_record make() override {
    cudaEvent_t created = nullptr;
    const cudaError_t status = cudaEventCreate(&created);
    if (status == cudaSuccess) event_.reset(created);
    return record_of(status);
  }
  product_result check() override {
    product_result result{.waited = cudaEventRecord(event_.get(), nullptr)};
    if (result.waited == cudaSuccess) result.waited = cudaEventSynchronize(event_.get());
    result.right = result.waited == cudaSuccess && cudaEventQuery(event_.get()) == cudaSuccess;
    return result;
  }

 private:
  std::unique_ptr<CUevent_st, destroy_by<cudaEventDestroy>> event_;
};

const register_operation here{{.name = "event_create",
                               .step = {"cudaEventCreate"},
                               .summary = "cudaEventCreate",
                               .fresh = fresh<create_event>,
                               .handle = own_handle::none,
                               .needs_context = false,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
