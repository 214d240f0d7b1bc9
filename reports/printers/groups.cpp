// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/groups.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/html_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

/// The shortest name, and the shortest of another case.
std::vector<std::string> examples_of(const change_group& g) {
  const auto case_of = [](const std::string& name) { return name.substr(0, name.find('/')); };
  const auto first = std::ranges::min_element(g.names, {}, &std::string::size);
  const auto order = [&](const std::string& name) {
    return std::tuple(&name == &*first, case_of(name) == case_of(*first), name.size());
  };
  const auto other = std::ranges::min_element(g.names, {}, order);
  return first == other ? std::vector{*first} : std::vector{*first, *other};
}

}  // namespace

described_arm described(std::string name, const judgement& found) {
  constexpr std::size_t longest_why = 300;  // of bytes: an arm of many steps is no page of text
  std::string line = fmt::format("{}: {}", name, beginning_of(found.why, longest_why));
  return {std::move(name), std::move(line), found.v, what_changed(found), {}, found.lost};
}

std::vector<change_group> groups_of(const std::vector<described_arm>& arms) {
  std::vector<change_group> groups;
  std::map<std::tuple<verdict, loss, std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const described_arm& a = arms[i];
    const auto [at, is_new] = known.try_emplace({a.v, a.lost, a.change, a.allowed}, groups.size());
    if (is_new) groups.push_back({a.v, a.lost, a.change, a.allowed, a.line});
    groups[at->second].arms.push_back(i);
    groups[at->second].names.push_back(a.name);
  }
  const auto order = [](const change_group& g) {
    return std::tuple(!g.allowed.empty(), g.lost == loss::undefined_behaviour, rank(g.v), g.lost,
                      -std::ssize(g.arms));
  };
  std::ranges::stable_sort(groups, {}, order);
  return groups;
}

std::string line_of(const change_group& g, bool with_verdict) {
  const std::string of = with_verdict ? to_string(g.v) : "";
  if (g.arms.size() == 1) return fmt::format("{}{}{}{}", of, of.empty() ? "" : ": ", g.line, g.allowed);
  constexpr std::size_t longest_change = 100;  // of bytes
  return fmt::format("{} arms{}{}: {}{}: {}{}", g.arms.size(), of.empty() ? "" : " ", of,
                     beginning_of(g.change, longest_change),
                     g.lost == loss::undefined_behaviour ? " (undefined behaviour)" : "",
                     fmt::join(examples_of(g), ", "), g.allowed);
}

std::vector<std::string> lines_of(const std::vector<change_group>& groups, bool with_verdict,
                                  std::size_t most, std::string_view all) {
  std::vector<std::string> lines;
  const std::size_t shown = groups.size() > most ? most - 1 : groups.size();
  std::size_t arms = 0;
  for (const change_group& g : groups)
    if (lines.size() < shown)
      lines.push_back(line_of(g, with_verdict));
    else
      arms += g.arms.size();
  if (arms > 0)
    lines.push_back(fmt::format("and {} further changes of {} arms: {}", groups.size() - shown, arms, all));
  return lines;
}

nlohmann::json to_json(const std::vector<change_group>& groups) {
  auto list = nlohmann::json::array();
  for (const change_group& g : groups)
    list.push_back({{"change", g.change},
                    {"verdict", to_string(g.v)},
                    {"arms", g.arms.size()},
                    {"examples", examples_of(g)},
                    {"allowed", !g.allowed.empty()}});
  return list;
}

}  // namespace cufault
