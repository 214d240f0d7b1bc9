// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault corroborate: of each arm, how many recorded stacks show the same.
#include "harness/cli/cli.hpp"
#include "reports/base/files.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// An arm of all stacks; nullptr where a stack has none.
struct arm_of_stacks {
  std::string case_name{}, arm{};
  std::vector<const arm_result*> each{};
};

/// By name.
std::map<std::string, arm_of_stacks> arms_of(const std::vector<record>& stacks) {
  std::map<std::string, arm_of_stacks> all;
  for (std::size_t i = 0; i < stacks.size(); ++i)
    for (const case_result& c : stacks[i].cases)
      for (const arm_result& a : c.arms) {
        arm_of_stacks& of = all[join_key(c.name, a.name)];
        of.case_name = c.name;
        of.arm = a.name;
        of.each.resize(stacks.size());
        of.each[i] = &a;
      }
  return all;
}

/// Stacks that show the same of an arm.
struct agreement {
  const arm_result* first = nullptr;
  std::vector<std::size_t> stacks{};
  std::set<std::string> runs{};  ///< by when they began and their seed
};

/// The largest first. Stacks on which the outcome is undefined count, too: they were observed.
std::vector<agreement> agreements_of(const arm_of_stacks& arm) {
  std::vector<agreement> all;
  for (std::size_t i = 0; i < arm.each.size(); ++i) {
    const arm_result* const seen = arm.each[i];
    if (seen == nullptr || !observed(*seen)) continue;
    auto same =
        std::ranges::find_if(all, [&](const agreement& a) { return is_same(compare_arms(a.first, seen).v); });
    if (same == all.end()) same = all.insert(all.end(), agreement{.first = seen});
    same->stacks.push_back(i);
    for (const run_of_trials& run : seen->runs)
      same->runs.insert(fmt::format("{} {}", run.started, run.seed));
  }
  std::ranges::stable_sort(
      all, [](const agreement& a, const agreement& b) { return a.stacks.size() > b.stacks.size(); });
  return all;
}

}  // namespace

int corroborate(const std::vector<std::string>& names, const std::vector<fs::path>& folders, bool json) {
  std::vector<record> stacks;
  std::vector<std::string> labels, own;
  const bool all_read = each_stack(folders, [&](const fs::path& folder, const fs::path& stack, record r) {
    stacks.push_back(std::move(r));
    labels.push_back(stack.filename());
    own.push_back(folder == default_recorded() ? "cufault" : folder.string());
  });
  const auto wanted = [&](const arm_of_stacks& arm) {
    return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
             return is_named_by(name, arm.case_name, arm.arm);
           });
  };
  auto rows = nlohmann::ordered_json::array();
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;  // of stacks that agree, and that differ
  std::set<std::string> known;
  for (const auto& [key, arm] : arms_of(stacks)) {
    known.insert({key, arm.case_name});
    const auto agreements = agreements_of(arm);
    if (agreements.empty() || !wanted(arm)) continue;
    std::size_t differ = 0;
    for (std::size_t i = 1; i < agreements.size(); ++i) differ += agreements[i].stacks.size();
    ++counts[{agreements[0].stacks.size(), differ}];
    if (names.empty() && !json) continue;
    std::set<std::string> sources;
    auto agreeing = nlohmann::ordered_json::array();
    for (const std::size_t i : agreements[0].stacks) {
      sources.insert(own[i]);
      agreeing.push_back(labels[i]);
    }
    rows.push_back({{"case", arm.case_name},
                    {"arm", arm.arm},
                    {"saw", describe(*agreements[0].first)},
                    {"stacks", agreeing},
                    {"differ", differ},
                    {"runs", agreements[0].runs.size()},
                    {"sources", sources}});
  }
  if (counts.empty())
    throw usage_error(fmt::format("no recorded stack has anything that was named{}",
                                  names.empty() ? "" : did_you_mean(names.front(), known)));
  if (json) {
    print_json({{"schema", 1}, {"arms", rows}}, -1);
    return all_read ? 0 : exit_unresolved;
  }
  std::vector<table_row> table;
  for (const auto& r : rows)
    table.push_back({join_key(r["case"].get<std::string>(), r["arm"].get<std::string>()),
                     fmt::format("{}", r["stacks"].size()), fmt::format("{}", r["differ"].get<std::size_t>()),
                     fmt::format("{}", r["runs"].get<std::size_t>()), fmt::format("{}", r["sources"].size()),
                     one_line(r["saw"].get<std::string>())});
  if (!table.empty())
    print_table(std::cout, {"arm", "stacks that agree", "that differ", "runs", "sources", "what they show"},
                table, table_style::text);
  for (const auto& [of, arms] : counts)
    fmt::print("{}: {} {}{}\n", plural(arms, "arm"), plural(of.first, "stack"),
               of.first == 1 ? "agrees" : "agree",
               of.second == 0   ? ""
               : of.second == 1 ? ", 1 differs"
                                : fmt::format(", {} differ", of.second));
  return all_read ? 0 : exit_unresolved;
}

}  // namespace cufault
