// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetWorkspace: cuBLAS 13.1.0 makes no driver call in it.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class set_workspace final : public by_handle {
 public:
  status_record make() override { return record_of(cublasSetWorkspace(handle(), workspace_.get(), bytes)); }
  product_result check() override { return multiply(); }

 private:
  static constexpr std::size_t bytes = 32 << 20;
  owned_memory workspace_ = new_memory(bytes);
};

const register_operation here{{.name = "set_workspace",
                               .step = {"cublasSetWorkspace"},
                               .summary = "cublasSetWorkspace",
                               .fresh = fresh<set_workspace>}};

}  // namespace
}  // namespace cufault::operations
