// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/cost.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

/// A made-up cost record, for tests alone: no figure in it was measured.
namespace cufault::examples {

inline std::vector<double> times(double around, std::size_t rounds = 9) {
  std::vector<double> all;
  for (std::size_t i = 0; i < rounds; ++i)
    all.push_back(around * (1 + 0.001 * static_cast<double>(static_cast<int>(i % 3) - 1)));
  return all;
}

/// The work without a remedy takes a millisecond, by the rounds of `again` in the control.
inline cost_comparison compared_cost(const std::string& name,
                                     const std::vector<std::pair<std::string, double>>& remedies) {
  cost_comparison c;
  c.name = name;
  c.work = "work of " + name;
  c.clock = "device";
  c.without.words = "nothing";
  c.without.milliseconds = times(1);
  c.without.device_bytes = 32 << 20;
  c.without.numbers = "right";
  // Other noise than without: one sample on each side is far off.
  c.again = times(1);
  c.again[1] = 1.01, c.again[4] = 0.99;
  for (const auto& [remedy, milliseconds] : remedies) {
    cost_side s;
    s.remedy = remedy;
    s.words = remedy + " in words";
    s.milliseconds = times(milliseconds);
    s.device_bytes = 96 << 20;
    s.numbers = "right";
    c.with.push_back(std::move(s));
  }
  return c;
}

inline cost_record costs() {
  cost_record r;
  r.version = "0.1.0";
  r.commit = "made-up";
  r.argv = {"remedy_cost"};
  r.started = "2026-11-23T06:00:00Z";
  r.ended = "2026-11-23T06:02:00Z";
  r.size = "usual";
  r.seed = 7;
  r.complete = true;
  *r.stack = {{"gpu", {{"name", "NVIDIA H200"}}}, {"keys", {{"cublas", "13.1.0"}, {"driver", "580.1"}}}};
  auto product =
      compared_cost("workspace.fp16.4096x4096x4096", {{"own_workspace", 1.03}, {"workspace_0_0", 1.0}});
  product.type = "fp16";
  product.operations = 2.0 * 4096 * 4096 * 4096;
  product.bytes = 3 * 2.0 * 4096 * 4096;
  r.comparisons.push_back(product);
  r.comparisons.push_back(compared_cost("handle.fp16.64x64x64", {{"new_handle", 91}}));
  auto mixed = compared_cost("numbers.fp16.64x64x64",
                             {{"own_workspace", 1.05}, {"pedantic_math", 1.2}, {"refused", 1}});
  mixed.with[1].numbers = "wrong";
  mixed.with[2].milliseconds.clear();
  mixed.with[2].device_bytes.reset();
  mixed.with[2].failed = "cublasSetWorkspace returned CUBLAS_STATUS_INVALID_VALUE";
  r.comparisons.push_back(mixed);
  cost_comparison lost;
  lost.name = "pool.1024";
  lost.work = "a step";
  lost.failed = "SIGSEGV";
  r.comparisons.push_back(lost);
  return r;
}

inline std::string cost_record_text(const cost_record& r) {
  std::string text = cost_header_line(r) + "\n";
  cost_words stated;
  for (const cost_comparison& c : r.comparisons) text += cost_line(c, stated) + "\n";
  return text + cost_end_line(r) + "\n";
}

}  // namespace cufault::examples
