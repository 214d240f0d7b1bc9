// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/fleet.hpp"

#include "reports/model/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>

namespace cufault {
namespace {

/// Nodes of one job begin within hours of each other.
constexpr std::int64_t most_apart = 24 * 60 * 60 * 1000;

void check_clocks(const merged_records& merged, std::vector<host_finding>& found) {
  std::vector<std::int64_t> all;
  for (const merged_member& m : merged.members)
    if (const auto at = milliseconds_of(m.started); at != 0) all.push_back(at);
  if (all.size() < 3) return;  // two times show that they differ, and not which is wrong
  std::ranges::sort(all);
  const std::int64_t median = all[all.size() / 2];
  for (const merged_member& m : merged.members) {
    const auto at = milliseconds_of(m.started);
    if (at != 0 && std::abs(at - median) > most_apart)
      found.push_back(
          {host_of(m.name), "clock",
           fmt::format("its run began at {}, more than a day from the others: a wrong clock, or a late start",
                       m.started)});
  }
}

/// Keys of stacks of which most members have another value.
void check_stacks(const merged_records& merged, std::vector<host_finding>& found) {
  for (const auto& [key, values] : merged.stacks) {
    const auto most = std::ranges::max_element(
        values, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const bool majority = most->second.size() * 2 > merged.members.size();
    for (const auto& [value, members] : values) {
      if (majority && value == most->first) continue;
      for (const std::size_t i : members)
        found.push_back({host_of(merged.members[i].name), "other_stack",
                         majority ? fmt::format("{} {}; most have {}", key, value, most->first)
                                  : fmt::format("{} {}; no value has a majority", key, value)});
    }
  }
}

}  // namespace

std::string host_of(std::string_view member_name) {
  const auto slash = member_name.rfind('/');
  if (slash != std::string_view::npos) member_name.remove_prefix(slash + 1);
  return std::string(member_name.substr(0, member_name.find('@')));
}

std::vector<host_finding> check_hosts(const merged_records& merged, const std::vector<std::string>& hosts) {
  std::vector<host_finding> found;
  std::map<std::string, std::vector<std::string>> records;
  for (const merged_member& m : merged.members) records[host_of(m.name)].push_back(m.name);
  const std::set<std::string> expected(hosts.begin(), hosts.end());
  for (const std::string& host : expected)
    if (!records.contains(host)) found.push_back({host, "absent", "it left no record"});
  for (const auto& [host, names] : records) {
    if (!expected.contains(host))
      found.push_back({host, "unknown", "it is none of the hosts that were to report"});
    if (names.size() > 1)
      found.push_back({host, "twice", fmt::format("it reported {} times; each counts", names.size())});
  }
  for (const merged_member& m : merged.members) {
    const std::string host = host_of(m.name);
    if (!m.complete)
      found.push_back({host, "unfinished",
                       fmt::format("its run did not come to its end; {} arms of it count", m.observed)});
    if (!m.no_gpu.empty())
      found.push_back({host, "no_gpu", "no GPU: " + m.no_gpu});
    else if (m.observed == 0)
      found.push_back({host, "nothing_ran", "no arm was observed"});
    if (m.outlying > 0)
      found.push_back(
          {host, "outlier", fmt::format("it differs from most in {} of {} arms", m.outlying, m.observed)});
  }
  check_stacks(merged, found);
  check_clocks(merged, found);
  std::ranges::stable_sort(found, {}, &host_finding::host);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace cufault
