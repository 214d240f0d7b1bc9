// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSetWorkspace, by any one driver call inside of it.
// Why          Any version may make some; cuBLAS 13.1.0 makes none.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

class set_workspace final : public by_handle {
 public:
  set_workspace() { require(cudaMalloc(&workspace_, bytes)); }
  ~set_workspace() override { cudaFree(workspace_); }
  status_record make() override { return record_of(cublasSetWorkspace(handle_, workspace_, bytes)); }
  product_result check() override { return multiply(); }

 private:
  static constexpr std::size_t bytes = 32 << 20;
  void* workspace_ = nullptr;
};

const register_case here{sweep_of("set_workspace", "cublasSetWorkspace, each driver call failed",
                                  [] { return std::make_unique<set_workspace>(); })};

}  // namespace
}  // namespace cufault::sweeping
