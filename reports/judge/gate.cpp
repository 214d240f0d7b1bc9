// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/gate.hpp"

#include "reports/base/json_fields.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/library_files.hpp"
#include "reports/model/cell_name.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>

namespace cufault {
namespace {

constexpr int allowance_schema = 1;

/// Judges the case by what its controls showed; its name, where a control failed.
std::set<std::string> cases_without_control(record& r) {
  std::set<std::string> names;
  for (case_result& c : r.cases) {
    for (arm_result& arm : c.arms) judge_by(arm, nullptr);
    if (control_unresolved(c)) names.insert(c.name);
  }
  return names;
}

/// An arm with a remedy, of which the candidate shows without it that nothing fails: a run may have left it out.
bool had_nothing_to_clear(const joined_arm& joined, const std::vector<joined_arm>& all) {
  const std::string without = without_remedy(joined.arm);
  if (without.empty()) return false;
  const auto fault = std::find_if(all.begin(), all.end(), [&](const joined_arm& j) {
    return j.arm == without && j.case_name == joined.case_name;
  });
  if (fault == all.end()) return false;
  const arm_result* const seen = fault->each[1];
  return seen != nullptr && observed(*seen) &&
         std::none_of(seen->trials.begin(), seen->trials.end(),
                      [](const observation& o) { return failed(signature_of(o)); });
}

std::string seen_in(const arm_result* arm) {
  return arm != nullptr && observed(*arm) ? describe(*arm) : std::string();
}

bool any_observed(const gate_report& report) {
  return std::any_of(report.arms.begin(), report.arms.end(),
                     [](const gated_arm& a) { return !a.before.empty() && !a.after.empty(); });
}

}  // namespace

bool is_date(const std::string& text) {
  constexpr std::string_view form = "dddd-dd-dd";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  return std::chrono::year_month_day{std::chrono::year{number(0, 4)},
                                     std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                     std::chrono::day{static_cast<unsigned>(number(8, 2))}}
      .ok();
}

std::vector<allowance> load_allowances(const std::filesystem::path& file) {
  return allowances_from(json_cursor{read_json(file)});
}

std::vector<allowance> allowances_from(const json_cursor& top) {
  if (!top.has("schema")) top.fail("\"schema\" is missing");
  if (const auto schema = top.at("schema").integer(); schema != allowance_schema)
    top.at("schema").fail(
        fmt::format("schema {}, and this cufault reads {} of allowances", schema, allowance_schema));
  top.only({"schema", "allowances"});
  std::vector<allowance> all;
  for (const json_cursor& at : top.at("allowances").items()) {
    at.only({"arm", "change", "reason", "expires"});
    allowance a{.arm = at.at("arm").string(),
                .what = read_json_value<change>(at.at("change")),
                .reason = at.at("reason").string(),
                .expires = at.at("expires").string(),
                .source = at.place()};
    if (a.arm.find('/') == std::string::npos) at.at("arm").fail("expected CASE/ARM, where * is anything");
    if (!fails_gate(a.what) || a.what == change::unresolved)
      at.at("change").fail("only changed, gone, worsened, remedy_broken and absent can be allowed");
    if (a.reason.find_first_not_of(" \t\n") == std::string::npos) at.at("reason").fail("is empty; say why");
    if (!is_date(a.expires)) at.at("expires").fail("expected a date: YYYY-MM-DD");
    all.push_back(std::move(a));
  }
  return all;
}

bool fails_gate(change c) {
  return c != change::unchanged && c != change::added && c != change::unobserved;
}

gate_report compare(record baseline, record candidate, const gate_terms& terms) {
  const auto no_control_before = cases_without_control(baseline),
             no_control_after = cases_without_control(candidate);
  gate_report report{.baseline = stack_label(baseline),
                     .candidate = stack_label(candidate),
                     .stacks = stack_differences(baseline, candidate),
                     .at_least = terms.at_least};
  report.executed =
      executed_cases(candidate.cases, candidate.stack.is_object() && candidate.stack.contains("gpu") &&
                                          candidate.stack["gpu"].is_object())
          .size();
  std::vector<bool> used(terms.allowances.size(), false);
  const std::array both{std::move(baseline), std::move(candidate)};
  const std::vector<joined_arm> all = join(both);
  for (const joined_arm& joined : all) {
    const bool proved_before = !no_control_before.contains(joined.case_name);
    const arm_result *before = proved_before ? joined.each[0] : nullptr, *after = joined.each[1];
    gated_arm arm{joined.case_name, joined.arm, compare_arms(before, after)};
    if (after != nullptr && no_control_after.contains(joined.case_name))
      arm.found = {change::unresolved,
                   "a control failed: without a working control a failure proves nothing"};
    else if (!proved_before && arm.found.what == change::added)
      arm.found.why = "a control of the baseline failed, so that it proves nothing";
    else if (after == nullptr && arm.found.what == change::absent && had_nothing_to_clear(joined, all))
      arm.found.what = change::unobserved;
    if (arm.found.what == change::unobserved) {
      ++report.unobserved;
      continue;
    }
    if (fails_gate(arm.found.what))
      if (const std::string told =
              explained_by_files(join_key(arm.case_name, arm.arm), both[0].stack, both[1].stack);
          !told.empty())
        arm.found.why += (arm.found.why.empty() ? "" : "; ") + told;
    arm.summary = (joined.each[1] != nullptr ? joined.each[1] : joined.each[0])->summary;
    arm.before = seen_in(before);
    arm.after = seen_in(after);
    for (std::size_t i = 0; i < terms.allowances.size() && fails_gate(arm.found.what); ++i) {
      const allowance& a = terms.allowances[i];
      if (a.what != arm.found.what ||
          fnmatch(a.arm.c_str(), join_key(arm.case_name, arm.arm).c_str(), 0) != 0)
        continue;
      used[i] = true;
      if (terms.today <= a.expires && !arm.allowed_by) arm.allowed_by = a;
    }
    report.arms.push_back(std::move(arm));
  }
  for (std::size_t i = 0; i < terms.allowances.size(); ++i) {
    if (terms.today > terms.allowances[i].expires)
      report.expired.push_back(terms.allowances[i]);
    else if (!used[i])
      report.unused.push_back(terms.allowances[i]);
  }
  return report;
}

std::vector<exit_reason> exit_reasons(const gate_report& report) {
  const auto names_of_arms = [&](auto holds) {
    std::vector<std::string> names;
    for (const gated_arm& a : report.arms)
      if (holds(a)) names.push_back(join_key(a.case_name, a.arm));
    return names;
  };
  std::vector<exit_reason> reasons;
  if (!report.unread.empty()) reasons.push_back({2, "not every file could be read"});
  for (const std::string& run : report.incomplete)
    reasons.push_back(
        {2, fmt::format("the run of {} did not come to its end: run it again, or leave it out", run)});
  if (!any_observed(report)) reasons.push_back({2, "no arm was observed in both"});
  const auto add = [&](int code, std::vector<std::string> names, std::string_view one,
                       std::string_view more) {
    if (const auto count = names.size(); count > 0)
      reasons.push_back({code, fmt::format("{} {}", count, count == 1 ? one : more), std::move(names)});
  };
  add(2, names_of_arms([](const gated_arm& a) { return a.found.what == change::unresolved; }),
      "arm is unresolved", "arms are unresolved");
  if (report.executed < report.at_least)
    reasons.push_back({1, fmt::format("{} case{} executed, and the floor is {}", report.executed,
                                      report.executed == 1 ? "" : "s", report.at_least)});
  add(1, names_of_arms([](const gated_arm& a) {
        return fails_gate(a.found.what) && a.found.what != change::unresolved && !a.allowed_by;
      }),
      "change that no allowance covers", "changes that no allowance covers");
  return reasons;
}

}  // namespace cufault
