// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/comparison.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/groups.hpp"
#include "reports/printers/html_text.hpp"
#include "reports/printers/summary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

/// Of arms that are not as before; what is as before is one number.
std::string counts_text(const comparison& all) {
  std::map<std::size_t, std::size_t> by_rank;
  for (const compared_arm& a : all.arms)
    if (!is_same(a.found.v)) ++by_rank[rank(a.found.v)];
  std::string text = fmt::format(
      "{}: {} as before", plural(all.arms.size() + all.not_asked + all.unobserved, "arm"), same_in(all));
  if (!by_rank.empty()) text += ", " + text_of(by_rank);
  if (all.not_asked > 0) text += fmt::format(", {} not asked for", all.not_asked);
  if (all.unobserved > 0) text += fmt::format(", {} observed in none", all.unobserved);
  return text;
}

std::string allowance_text(const compared_arm& a) {
  return a.allowed_by ? fmt::format(" [allowed until {}: {}]", a.allowed_by->expires, a.allowed_by->reason)
                      : std::string();
}

std::string line_of(const allowance& a) {
  return fmt::format("{}: {} of {}{}{} (until {}: {})", a.source, to_string(a.what), a.arm,
                     a.change.empty() ? "" : ", ", a.change, a.expires, a.reason);
}

/// What differs in an arm, in one line; of many steps what was rewritten in the first.
std::string arm_text(const compared_arm& a, std::size_t most) {
  const std::string name = join_key(a.case_name, a.arm),
                    does = a.summary.empty() ? "" : fmt::format(" ({})", a.summary);
  std::string line = fmt::format("{}{}: {}", name, does, a.found.why);
  if (line.size() > most)
    line = beginning_of(fmt::format("{}: {}{}", name, what_changed(a.found), does), most);
  return line;
}

/// Of each verdict of changes that are not allowed: "; WORSENED: do not upgrade".
std::string advice_text(const std::vector<change_group>& groups) {
  std::string text;
  for (const advice& of : advices)
    if (std::ranges::any_of(groups, [&](const change_group& g) { return g.v == of.v && g.allowed.empty(); }))
      text += fmt::format("; {}: {}", to_string(of.v), to_do(of));
  return text;
}

/// Without NEW ones, which are only counted.
std::vector<change_group> changes_in(const comparison& all) {
  constexpr std::size_t two_lines = 140;  // of a narrow terminal, with the verdict
  std::vector<described_arm> arms;
  for (const compared_arm& a : all.arms)
    if (!is_same(a.found.v) && a.found.v != verdict::unrecorded)
      arms.push_back({join_key(a.case_name, a.arm), arm_text(a, two_lines), a.found.v, what_changed(a.found),
                      allowance_text(a), a.found.lost});
  return groups_of(arms);
}

/// A line for arms of a case of which the same is to be said: "memory.leak: one, two (no GPU)". NEW ones are many: names alone.
std::vector<std::string> lines_of(const comparison& all, const std::vector<const compared_arm*>& arms,
                                  arm_extent extent) {
  std::vector<std::string> lines;
  std::map<std::pair<std::string, std::string>, std::string> names;  // by case and what follows
  for (const compared_arm* a : arms) {
    const bool joined = a->found.v == verdict::absent || a->found.v == verdict::unrecorded;
    if (extent == arm_extent::names || joined) {
      std::string rest = joined && !a->found.why.empty() ? fmt::format(" ({})", a->found.why) : "";
      if (joined) rest += allowance_text(*a);
      std::string& here = names[{a->case_name, extent == arm_extent::names ? "" : rest}];
      here += (here.empty() ? "" : ", ") + a->arm;
      continue;
    }
    lines.push_back(arm_text(*a, std::string::npos) + allowance_text(*a));
    for (std::size_t i = 0; i < a->seen.size(); ++i)
      lines.push_back(
          fmt::format("  {}: {}", all.records[i].role, a->seen[i].empty() ? "not observed" : a->seen[i]));
  }
  for (const auto& [key, listed] : names)
    lines.push_back(fmt::format("{}: {}{}", key.first, listed, key.second));
  return lines;
}

}  // namespace

void print_comparison(std::ostream& out, const comparison& all, const std::string& command, table_style style,
                      arm_extent extent) {
  limited_output page(out, style);
  const bool gate = command == "gate";
  const std::string result = gate ? verdict_line(exit_reasons(all), 0) : std::string();
  page.heading(fmt::format("cufault {}{}{}", command, gate ? ": " : "", result));
  table_row head{"of the stack"};
  for (const compared_record& r : all.records) {
    page.line(fmt::format("{}: {}: {} observed", r.role, r.label, plural(r.observed, "arm")));
    for (const std::string& doubt : r.doubts) page.line(fmt::format("{}: {}", r.role, doubt));
    head.push_back(r.role);
  }
  std::vector<table_row> rows;
  for (const stack_difference& d : all.stacks) {
    rows.push_back({d.name});
    for (const std::string& value : d.values) rows.back().push_back(value.empty() ? "-" : value);
  }
  const bool short_text = extent == arm_extent::groups && style == table_style::text;
  if (rows.empty())
    page.line("The stacks are equal.");
  else if (short_text && all.records.size() == 2)
    page.line("The stacks differ: " + keys_text(all.stacks, "--in-full"));
  else
    page.table("What differs between the stacks", head, rows);

  constexpr const char* how_to_see_all = "--names, --in-full";
  const auto groups = changes_in(all);
  if (extent == arm_extent::groups)
    for (const std::string& line : lines_of(groups, true, most_groups, how_to_see_all)) page.line(line);
  for (const advice& of : advices) {
    if (extent == arm_extent::groups) break;
    std::vector<const compared_arm*> arms;
    for (const compared_arm& a : all.arms)
      if (a.found.v == of.v && !is_same(of.v)) arms.push_back(&a);
    std::ranges::stable_sort(
        arms, {}, [](const compared_arm* a) { return std::pair(a->allowed_by.has_value(), a->found.lost); });
    constexpr std::size_t enough = 10;
    if (!arms.empty())
      page.list(fmt::format("{}, {}: {}", to_string(of.v), plural(arms.size(), "arm"), of.asks),
                lines_of(all, arms, extent), of.v == verdict::unrecorded ? enough : SIZE_MAX);
  }
  std::vector<std::string> noted;
  for (const compared_arm& a : all.arms)
    if (!a.found.noted.empty())
      noted.push_back(fmt::format("{}: {}", join_key(a.case_name, a.arm), a.found.noted));
  if (!noted.empty())
    page.list(fmt::format("noted of {}, and no failure", plural(noted.size(), "arm")), noted,
              short_text ? 2 : SIZE_MAX);
  for (const auto& [title, allowances] :
       {std::pair{"allowances that have expired, and cover nothing", &all.expired},
        std::pair{"allowances that nothing needs: remove them", &all.unused}}) {
    std::vector<std::string> lines;
    for (const allowance& a : *allowances) lines.push_back(line_of(a));
    if (!lines.empty()) page.list(title, lines);
  }
  if (!all.unread.empty()) page.list("files that could not be read", all.unread);
  std::string counts = counts_text(all);
  if (gate)
    counts += fmt::format("; {} of the candidate executed, the floor is {}", plural(all.executed, "case"),
                          all.at_least);
  if (extent == arm_extent::groups) counts += advice_text(groups);
  if (short_text && !groups.empty() && groups.size() <= most_groups)
    counts += fmt::format("; all: {}", how_to_see_all);
  page.last(counts);
  if (gate && style == table_style::text)
    page.last("gate: " + result, exit_reasons(all).empty() ? paint::good : paint::bad);
}

nlohmann::json to_json(const comparison& all) {
  nlohmann::json records = nlohmann::json::array(), stacks = nlohmann::json::array(),
                 arms = nlohmann::json::array(), counts = nlohmann::json::object();
  const std::vector<exit_reason> reasons = exit_reasons(all);
  for (const compared_record& r : all.records) {
    records.push_back({{"role", r.role}, {"label", r.label}, {"observed", r.observed}});
    if (!r.doubts.empty()) records.back()["doubts"] = r.doubts;
  }
  for (const stack_difference& d : all.stacks) stacks.push_back({{"name", d.name}, {"values", d.values}});
  for (const compared_arm& a : all.arms) {
    if (!is_same(a.found.v)) counts[to_string(a.found.v)] = counts.value(to_string(a.found.v), 0) + 1;
    if (is_same(a.found.v) && a.found.noted.empty()) continue;
    nlohmann::json j{{"case", a.case_name},  {"arm", a.arm},
                     {"summary", a.summary}, {"verdict", to_string(a.found.v)},
                     {"why", a.found.why},   {"noted", a.found.noted},
                     {"seen", a.seen}};
    if (std::string change = what_changed(a.found); change != a.found.why) j["change"] = std::move(change);
    if (a.allowed_by) j["allowed"] = {{"reason", a.allowed_by->reason}, {"expires", a.allowed_by->expires}};
    arms.push_back(std::move(j));
  }
  const auto allowances = [](const std::vector<allowance>& of) {
    auto list = nlohmann::json::array();
    for (const allowance& a : of) {
      list.push_back(
          {{"arm", a.arm}, {"verdict", to_string(a.what)}, {"reason", a.reason}, {"expires", a.expires}});
      if (!a.change.empty()) list.back()["what"] = a.change;
    }
    return list;
  };
  return {{"schema", 2},
          {"exit_code", exit_code(reasons)},
          {"reasons", to_json(reasons)},
          {"records", records},
          {"stacks", stacks},
          {"groups", to_json(changes_in(all))},
          {"arms", arms},
          {"counts", counts},
          {"as_before", same_in(all)},
          {"not_asked", all.not_asked},
          {"unobserved", all.unobserved},
          {"executed_cases", all.executed},
          {"floor", all.at_least},
          {"expired_allowances", allowances(all.expired)},
          {"unused_allowances", allowances(all.unused)},
          {"unread", all.unread}};
}

}  // namespace cufault
