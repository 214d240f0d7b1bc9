// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMemGetInfo: there is less free than there is.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class ask final : public without_handle {
 public:
  void prepare() override { free_ = total_ = 0; }
  status_record make() override { return record_of(cudaMemGetInfo(&free_, &total_)); }
  product_result check() override { return {.right = free_ < total_}; }

 private:
  std::size_t free_ = 0, total_ = 0;
};

const register_operation here{{.name = "mem_get_info",
                               .step = {"cudaMemGetInfo"},
                               .summary = "cudaMemGetInfo",
                               .fresh = fresh<ask>,
                               .handle = own_handle::none,
                               .needs_context = false,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
