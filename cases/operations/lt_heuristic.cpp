// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmulAlgoGetHeuristic asks for properties of the device, and, the first time, for kernels.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class heuristic final : public by_lt_handle {
 public:
  void prepare() override {
    p_.reset();
    found_ = 0;
  }
  status_record make() override { return record_of(problem_.heuristic(lt(), workspace_bytes, &found_)); }
  product_result check() override {
    if (found_ == 0) return {};
    return p_.finish(problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo, workspace(),
                                       workspace_bytes));
  }

 private:
  checked_product p_{usual_product()};
  lt_problem problem_{p_.described()};
  int found_ = 0;
};

const register_operation here{{.name = "lt_heuristic",
                               .step = {"cublasLtMatmulAlgoGetHeuristic"},
                               .summary = "cublasLtMatmulAlgoGetHeuristic",
                               .fresh = fresh<heuristic>,
                               .handle = own_handle::cublaslt,
                               .representative = true,
                               .claims = {"S2-1"},
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
