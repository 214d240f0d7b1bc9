// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaDeviceSynchronize behind a kernel that writes to the host: it must have written when the call returns.
#include "cases/operations/pinned.hpp"
#include "kernels/faults.hpp"

namespace cufault::operations {
namespace {

class synchronize final : public without_handle {
 public:
  void prepare() override {
    to_.put({0});
    CUFAULT_REQUIRE(launch_delay(nullptr, 5));
    CUFAULT_REQUIRE(launch_fill(to_.data(), 1, 42, nullptr));
  }
  status_record make() override { return record_of(cudaDeviceSynchronize()); }
  product_result check() override { return {.right = to_.holds({42})}; }

 private:
  pinned_array to_{1};
};

const register_operation here{{.name = "device_synchronize",
                               .step = {"cudaDeviceSynchronize"},
                               .summary = "cudaDeviceSynchronize",
                               .fresh = fresh<synchronize>,
                               .handle = own_handle::none,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
