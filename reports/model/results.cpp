// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cufault {
namespace {

constexpr std::array verdicts{std::pair{verdict::ok, "OK"},
                              std::pair{verdict::reproduced, "REPRODUCED"},
                              std::pair{verdict::cleared, "CLEARED"},
                              std::pair{verdict::still_fails, "STILL_FAILS"},
                              std::pair{verdict::diagnosed, "DIAGNOSED"},
                              std::pair{verdict::flaky, "FLAKY"},
                              std::pair{verdict::as_predicted, "AS_PREDICTED"},
                              std::pair{verdict::undefined, "UNDEFINED"},
                              std::pair{verdict::changed, "CHANGED"},
                              std::pair{verdict::gone, "GONE"},
                              std::pair{verdict::worsened, "WORSENED"},
                              std::pair{verdict::remedy_broken, "REMEDY_BROKEN"},
                              std::pair{verdict::differs, "DIFFERS"},
                              std::pair{verdict::unrecorded, "NEW"},
                              std::pair{verdict::absent, "ABSENT"},
                              std::pair{verdict::not_provoked, "NOT_PROVOKED"},
                              std::pair{verdict::unresolved, "UNRESOLVED"}};

}  // namespace

bool as_expected(verdict v) {
  return v == verdict::ok || v == verdict::reproduced || v == verdict::cleared || v == verdict::still_fails ||
         v == verdict::diagnosed || v == verdict::flaky || v == verdict::as_predicted ||
         v == verdict::undefined;
}

bool heard_driver_log(const arm_result& arm, std::size_t trial) {
  std::size_t end = 0;
  for (const run_of_trials& run : arm.runs)
    if (end += run.trials; trial < end) return run.driver_log == driver_log_heard;
  return false;
}

bool heard_driver_log(const arm_result& arm) {
  return !arm.runs.empty() && std::ranges::all_of(arm.runs, [](const run_of_trials& run) {
    return run.driver_log == driver_log_heard;
  });
}

bool is_prediction(verdict v) {
  return v == verdict::as_predicted || v == verdict::differs || v == verdict::unrecorded;
}

std::string to_string(verdict v) {
  for (const auto& [known, name] : verdicts)
    if (known == v) return name;
  return "unknown";
}

std::string join_key(std::string_view case_name, std::string_view arm) {
  return fmt::format("{}/{}", case_name, arm);
}

bool is_made_up(const arm_result& arm) {
  return arm.made_up || !arm.counterpart_of.empty();
}

bool observed(const arm_result& arm) {
  return !arm.trials.empty() && std::ranges::all_of(arm.trials, comparable);
}

std::string latest_run(const arm_result& arm) {
  std::string latest;
  for (const auto& r : arm.runs) latest = std::max(latest, r.started);
  return latest;
}

failure_count count_failures(const std::vector<observation>& trials) {
  failure_count counted;
  for (const observation& o : trials) {
    if (!comparable(o)) continue;
    ++counted.compared;
    if (failed(signature_of(o))) ++counted.failing;
  }
  return counted;
}

std::vector<counted_signature> distinct_signatures(const std::vector<observation>& trials) {
  std::vector<counted_signature> counted;
  for (const auto& o : trials) {
    auto s = signature_of(o);
    const auto known = std::ranges::find_if(counted, [&](const auto& entry) { return entry.seen == s; });
    if (known == counted.end())
      counted.push_back({std::move(s), 1});
    else
      ++known->trials;
  }
  std::ranges::stable_sort(counted, [](const auto& a, const auto& b) { return a.trials > b.trials; });
  return counted;
}

bool takes_further_trials(const arm_result& arm) {
  return std::ranges::none_of(arm.trials, [](const observation& o) {
    return o.level || std::ranges::any_of(o.calls, [](const call_record& c) { return c.swept.has_value(); });
  });
}

void note_differing_trials(arm_result& arm) {
  if (arm.races.empty() && observed(arm) && takes_further_trials(arm) &&
      distinct_signatures(arm.trials).size() > 1)
    arm.races = trials_differed;
}

void pool(arm_result& to, const arm_result& more) {
  if (to.name.empty()) {
    to = more;
    return;
  }
  if (to.races.empty()) to.races = more.races;  // a record from before the arm was marked as racing has none
  to.undefined |= more.undefined;
  to.rate_depends_on_load |= more.rate_depends_on_load;
  to.trials.insert(to.trials.end(), more.trials.begin(), more.trials.end());
  to.runs.insert(to.runs.end(), more.runs.begin(), more.runs.end());
}

std::vector<plateau> arm_plateaus(const arm_result& arm) {
  if (arm.races.empty()) return plateaus_of(arm.trials);
  std::vector<plateau> each;
  for (auto& entry : distinct_signatures(arm.trials)) each.push_back({.seen = std::move(entry.seen)});
  return each;
}

namespace {

/// Facts that are only noted are no part of a signature. A text tells those of the first trial that showed it.
void add_noted_facts(signature& s, const std::vector<observation>& trials) {
  const auto first = std::ranges::find_if(trials, [&](const observation& o) { return signature_of(o) == s; });
  if (first == trials.end()) return;
  // Rows of a sweep have no such facts, and a signature has them in another order.
  if (std::ranges::any_of(first->calls, [](const call_record& c) { return c.swept.has_value(); })) return;
  std::size_t fault = 0, after = 0;
  for (const call_record& c : first->calls) {
    step& same = c.after_remedy ? s.after.at(after++) : s.fault.at(fault++);
    same.facts.merge(facts_that_are(fact_use::noted, c.what.facts));
  }
}

}  // namespace

std::string describe(const arm_result& arm) {
  auto counted = distinct_signatures(arm.trials);
  if (arm.races.empty() || counted.size() < 2) {
    auto all = arm_plateaus(arm);
    for (plateau& p : all) add_noted_facts(p.seen, arm.trials);
    return describe(all);
  }
  for (counted_signature& entry : counted) add_noted_facts(entry.seen, arm.trials);
  std::string text;
  for (const auto& entry : counted)
    text += fmt::format("{}{} of {}: {}", text.empty() ? "" : " | ", entry.trials, arm.trials.size(),
                        describe(entry.seen));
  return text;
}

}  // namespace cufault
