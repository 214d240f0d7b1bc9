// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmulAlgoGetHeuristic, by any one driver call inside of it.
// Why          It asks for properties of the device, and, the first time, for kernels.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cufault::sweeping {
namespace {

class heuristic final : public by_light_handle {
 public:
  void prepare() override {
    p_.reset();
    found_ = 0;
  }
  status_record make() override { return record_of(problem_.heuristic(light_, workspace_bytes, &found_)); }
  product_result check() override {
    if (found_ == 0) return {};
    return p_.finish(problem_.multiply(light_, p_.operands(), &problem_.results().front().algo, workspace_,
                                       workspace_bytes));
  }

 private:
  checked_product p_{usual_product()};
  lt_problem problem_{p_.described()};
  int found_ = 0;
};

/// S2-1: ALLOC_FAILED from the heuristic, when memory is short.
void conclude(trial& t, const std::vector<grouped_row>& rows) {
  std::uint64_t short_of_memory = 0, alloc_failed = 0, any = 0;
  for (const grouped_row& row : rows) {
    any += row.calls.calls;
    if (std::find(row.calls.codes.begin(), row.calls.codes.end(), "OUT_OF_MEMORY") == row.calls.codes.end())
      continue;
    short_of_memory += row.calls.calls;
    if (row.status.name == "CUBLAS_STATUS_ALLOC_FAILED") alloc_failed += row.calls.calls;
  }
  t.conclude("S2-1", alloc_failed > 0,
             fmt::format("of its driver calls {} were failed, {} of them with OUT_OF_MEMORY; it returned "
                         "ALLOC_FAILED for {} of these",
                         any, short_of_memory, alloc_failed));
}

const register_case here{sweep_case({.name = "lt_heuristic",
                                     .summary = "cublasLtMatmulAlgoGetHeuristic, each driver call failed",
                                     .fresh = [] { return std::make_unique<heuristic>(); },
                                     .claims = {"S2-1"},
                                     .conclude = conclude})};

}  // namespace
}  // namespace cufault::sweeping
