// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/remedy_outcome.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>

namespace cufault {
namespace {

/// A remedy or dead end that acts on what follows a call: where that call fails, nothing is known of it.
struct later_remedy {
  const char *arms, *call;  ///< pattern of CASE/ARM
};
constexpr later_remedy later_remedies[] = {{"*/*+checkpointing", "cublasCreate"},
                                           {"*/*+cublaslt", "cublasCreate"},
                                           {"*/*+larger_batch", "cublasCreate"},
                                           {"*/*+no_addmm_lt", "cublasCreate"},
                                           {"*/*+no_lt_workspace", "cublasCreate"}};
/// Arms in which the fault never is.
constexpr const char* without_fault[] = {"memory.create_under_pressure/smaller_buffers_*"};

bool is_failure_of(const step& s, const std::string& call) {
  const auto named = s.facts.find("named_call");
  return !s.ok && (s.name.api == call || (named != s.facts.end() && named->second == fact(call)));
}

/// Whether the call failed in each trial, in what counts: after the remedy, or with it.
bool always_fails(const arm_result& arm, const std::string& call) {
  return std::ranges::all_of(arm.trials, [&](const observation& o) {
    return std::ranges::any_of(o.calls, [&](const call_record& c) {
      return c.after_remedy == !o.applied.empty() && is_failure_of(c.what, call);
    });
  });
}

}  // namespace

std::string why_it_shows_nothing(const std::string& case_name, const arm_result& arm) {
  const std::string name = join_key(case_name, arm.name);
  const auto is_like = [&](const char* pattern) { return fnmatch(pattern, name.c_str(), 0) == 0; };
  const bool failed = std::ranges::any_of(arm.trials, [](const observation& o) {
    return std::ranges::any_of(o.calls, [](const call_record& c) { return !c.what.ok; });
  });
  if (!failed && std::any_of(std::begin(without_fault), std::end(without_fault), is_like))
    return "the fault is never there, so that nothing could fail";
  for (const later_remedy& r : later_remedies)
    if (is_like(r.arms) && always_fails(arm, r.call))
      return fmt::format("{} failed, and the remedy acts on what follows it", r.call);
  return {};
}

std::optional<remedy_outcome> remedy_outcome_of(const case_result& c, const arm_result& arm) {
  const bool treats = arm.kind == arm_kind::remedy || arm.kind == arm_kind::dead_end;
  if (!treats || arm.judged == verdict::not_provoked || !arm.counterpart_of.empty()) return std::nullopt;
  remedy_outcome tried{.words = arm.summary, .before = {}, .against = {}};
  if (!arm.against.empty()) tried.against = join_key(c.name, arm.against);
  const failure_count failures = count_failures(arm.trials);
  tried.cleared = failures.none();
  for (const observation& o : arm.trials) {
    if (!comparable(o) || o.applied.empty()) continue;
    tried.words = o.applied;
    for (const call_record& call : o.calls)
      if (!call.after_remedy) tried.before.push_back(&call);
  }
  if (failures.compared == 0 || (tried.before.empty() && tried.against.empty())) return std::nullopt;
  return tried;
}

}  // namespace cufault
