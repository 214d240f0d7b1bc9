// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

std::string names_of(const merged_records& merged, const std::vector<std::size_t>& members) {
  constexpr std::size_t readable = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(readable, members.size()); ++i)
    names.push_back(merged.members[members[i]].name);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     members.size() > readable ? fmt::format(" and {} more", members.size() - readable) : "");
}

std::string share_of(const merged_arm& arm, const merged_group& group) {
  return arm.races ? fmt::format("{} of {} trials", group.trials, arm.trials)
                   : fmt::format("{} of {}", group.members.size(), arm.observed);
}

}  // namespace

void print_merged(std::ostream& out, const merged_records& merged, table_style style) {
  limited_output page(out, style);
  page.heading("cufault merge");
  std::vector<table_row> rows;
  for (const auto& m : merged.members)
    rows.push_back({m.name, std::to_string(m.observed), std::to_string(m.outlying), m.stack});
  if (!rows.empty()) page.table("Records", {"record", "arms observed", "outlier of", "stack"}, rows);

  rows.clear();
  for (const auto& [key, values] : merged.stacks)
    for (const auto& [value, members] : values) rows.push_back({key, value, names_of(merged, members)});
  if (!rows.empty())
    page.table("What differs between the stacks", {"of the stack", "value", "records"}, rows);

  std::vector<std::string> outliers, divided;
  std::size_t agree = 0, single = 0, differing = 0;
  rows.clear();
  for (const merged_arm& arm : merged.arms) {
    const std::string name = join_key(arm.case_name, arm.arm);
    std::string rates;
    for (const auto& group : arm.groups)
      rates +=
          fmt::format("{}{}: {}", rates.empty() ? "" : " | ", share_of(arm, group), shortened(group.seen));
    if (arm.races) rows.push_back({name, std::to_string(arm.observed), rates});
    std::map<std::string, std::vector<std::size_t>> members_by_how;
    for (const auto& [member, how] : arm.outliers) members_by_how[how].push_back(member);
    for (const auto& [how, members] : members_by_how)
      outliers.push_back(fmt::format("{}: {} ({} of {}) {}", name, names_of(merged, members), members.size(),
                                     arm.observed, how));
    if (arm.no_majority) {
      std::string shares;
      for (const auto& group : arm.groups)
        shares += fmt::format("{}{} ({}){}{}", shares.empty() ? "" : "; ", names_of(merged, group.members),
                              share_of(arm, group), group.how.empty() ? "" : " ", group.how);
      divided.push_back(fmt::format("{}: {}", name, shares));
    }
    if (arm.outliers.empty() && !arm.no_majority)
      ++(arm.observed > 1 ? agree : single);
    else if (!arm.no_majority)
      ++differing;
  }
  if (!outliers.empty()) page.list("Outliers: how they differ from most", outliers);
  if (!divided.empty()) page.list("No majority: how the records differ from the first", divided);
  if (!rows.empty()) page.table("Arms that race, all trials together", {"arm", "records", "rates"}, rows);
  page.last(fmt::format(
      "{} of {}: {} agree, {} with outliers, {} without a majority, {} observed in one record only",
      plural(merged.arms.size(), "arm"), plural(merged.members.size(), "record"), agree, differing,
      divided.size(), single));
}

nlohmann::json to_json(const merged_records& merged) {
  nlohmann::json members = nlohmann::json::array(), arms = nlohmann::json::array();
  for (const auto& m : merged.members)
    members.push_back(
        {{"name", m.name}, {"stack", m.stack}, {"observed", m.observed}, {"outlier_of", m.outlying}});
  for (const auto& arm : merged.arms) {
    nlohmann::json groups = nlohmann::json::array();
    for (const auto& g : arm.groups)
      groups.push_back({{"seen", g.seen}, {"members", g.members}, {"trials", g.trials}});
    std::vector<std::size_t> outliers;
    std::vector<std::string> how;
    for (const auto& [member, said] : arm.outliers) {
      outliers.push_back(member);
      how.push_back(said);
    }
    arms.push_back({{"case", arm.case_name},
                    {"arm", arm.arm},
                    {"races", arm.races},
                    {"trials", arm.trials},
                    {"groups", std::move(groups)},
                    {"outliers", outliers},
                    {"how", how},
                    {"no_majority", arm.no_majority}});
  }
  return {{"schema", 1},
          {"exit_code", exit_code(merged)},
          {"members", members},
          {"stacks", merged.stacks},
          {"arms", std::move(arms)}};
}

void print_hosts(std::ostream& out, const std::vector<host_finding>& found, std::size_t hosts,
                 table_style style) {
  limited_output page(out, style);
  std::set<std::string> named;
  std::vector<table_row> rows;
  for (const host_finding& f : found) {
    named.insert(f.host);
    rows.push_back({f.host, f.code, f.text});
  }
  if (!rows.empty()) page.table("Hosts", {"host", "what", "why"}, rows);
  page.last(fmt::format("{} expected: {}", plural(hosts, "host"),
                        named.empty() ? "all reported, and agree"
                                      : fmt::format("something is wrong with {}", fmt::join(named, ", "))));
}

nlohmann::json to_json(const std::vector<host_finding>& found) {
  nlohmann::json all = nlohmann::json::array();
  for (const host_finding& f : found) all.push_back({{"host", f.host}, {"code", f.code}, {"text", f.text}});
  return all;
}

}  // namespace cufault
