// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmulAlgoGetHeuristic, by any one driver call inside of it.
// Why          It asks for properties of the device, and, the first time, for kernels.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
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

/// S2-1: ALLOC_FAILED from the heuristic, when memory is short. Nothing is said where no call of it can want memory.
void conclude(trial& t, const std::vector<grouped_row>& rows) {
  std::set<std::string> tried, alloc_failed, ended;
  for (const grouped_row& row : rows) {
    const swept_calls& s = row.calls;
    if (!s.reached || std::find(s.codes.begin(), s.codes.end(), "OUT_OF_MEMORY") == s.codes.end()) continue;
    tried.insert(s.function);
    if (row.status.name == "CUBLAS_STATUS_ALLOC_FAILED") alloc_failed.insert(s.function);
    if (!s.ended.empty()) ended.insert(s.function);
  }
  if (tried.empty()) return;
  t.conclude("S2-1", !alloc_failed.empty(),
             fmt::format("OUT_OF_MEMORY from {}: ALLOC_FAILED from {}, the end of the process from {}",
                         fmt::join(tried, ", "),
                         alloc_failed.empty() ? "none" : fmt::format("{}", fmt::join(alloc_failed, ", ")),
                         ended.empty() ? "none" : fmt::format("{}", fmt::join(ended, ", "))));
}

const register_case here{sweep_case({.name = "lt_heuristic",
                                     .summary = "cublasLtMatmulAlgoGetHeuristic, each driver call failed",
                                     .fresh = [] { return std::make_unique<heuristic>(); },
                                     .claims = {"S2-1"},
                                     .conclude = conclude})};

}  // namespace
}  // namespace cufault::sweeping
