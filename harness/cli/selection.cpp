// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/selection.hpp"

#include "harness/cli/usage_error.hpp"
#include "harness/model/properties.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

/// One of so many parts of a case's arms: controls belong to each, every other arm to one, and what answers a
/// fault to that of the fault. Where there are fewer than parts, the parts beyond have none: controls alone would prove nothing.
std::vector<const arm*> part_of(const std::vector<const arm*>& arms, std::pair<int, int> part) {
  std::map<std::string, int> dealt;
  int next = 0;
  for (const arm* a : arms)
    if (a->kind != arm_kind::control && a->against.empty()) dealt[a->name] = next++ % part.second + 1;
  std::vector<const arm*> mine;
  for (const arm* a : arms) {
    const auto to = dealt.find(a->against.empty() ? a->name : a->against);
    if (a->kind == arm_kind::control || (to != dealt.end() && to->second == part.first)) mine.push_back(a);
  }
  const bool controls_alone = part.first > next && part.first > 1;
  return controls_alone ? std::vector<const arm*>{} : mine;
}

/// False if the text before the first wildcard rules out every arm of the case. Saves tens of thousands of comparisons in the matrix.
bool may_name_arm(const std::string& name, const failure_case& c) {
  const auto literal = std::string_view(name).substr(0, name.find_first_of("*?[\\"));
  const std::string begin = c.name + "/";
  const auto length = std::min(literal.size(), begin.size());
  return literal.substr(0, length) == std::string_view(begin).substr(0, length);
}

/// The cases that these names can be of; all where there is no name.
const std::vector<failure_case>& cases_for(const std::vector<std::string>& names) {
  if (names.empty()) return all_cases();
  std::set<std::string> families;
  for (const std::string& name : names) {
    const auto end = name.find_first_of("./*?[\\");
    if (end != name.npos && name[end] != '.' && name[end] != '/') return all_cases();
    families.insert(name.substr(0, end));
  }
  return cases_with_families(families);
}

/// Cases by name, by family, or one arm of a case (CASE/ARM, with the case's controls: without them nothing
/// is proved).
std::vector<selected_case> select(const std::vector<std::string>& names, test_tier tier, bool frameworks) {
  const auto& cases = cases_for(names);
  if (cases.empty()) throw usage_error(build_it_with_cuda);
  std::vector<selected_case> selected;
  std::set<std::string> understood;
  for (const failure_case& c : cases) {
    const bool of_framework = !c.arms.front().framework.empty();
    bool whole = names.empty() && (of_framework ? frameworks : !properties_of(c).only_named);
    std::set<const arm*> named;
    std::set<std::string> answered;  // faults that a named remedy is for
    for (const std::string& name : names) {
      if (names_case(name, c)) {
        whole = true;
        understood.insert(name);
      }
      if (!may_name_arm(name, c)) continue;
      for (const arm& a : c.arms) {
        if (fnmatch(name.c_str(), (c.name + "/" + a.name).c_str(), 0) != 0) continue;
        understood.insert(name);
        named.insert(&a);
        if (!a.against.empty()) answered.insert(a.against);
      }
    }
    selected_case s{&c, {}};
    for (const arm* a : named) s.named.insert(a->name);
    for (const arm& a : c.arms) {
      // Without a working control nothing is proved, nor by a remedy without the fault that it answers.
      const bool control_of_it = a.kind == arm_kind::control && !named.empty();
      if ((whole && tier_of(c, a) <= tier) || named.contains(&a) || control_of_it ||
          answered.contains(a.name))
        s.arms.push_back(&a);
    }
    if (!s.arms.empty()) selected.push_back(std::move(s));
  }
  for (const std::string& name : names) {
    if (!understood.contains(name))
      throw usage_error(fmt::format("no case, family or CASE/ARM is called {}; `cufault list` names them{}",
                                    name, did_you_mean(name, names_of_cases())));
  }
  return selected;
}

}  // namespace

std::vector<selected_case> select_cases(const run_arguments& arguments, bool frameworks) {
  if (arguments.part.first < 1 || arguments.part.first > arguments.part.second)
    throw usage_error(
        fmt::format("--part {} {}: there is no such part", arguments.part.first, arguments.part.second));
  auto selected = select(arguments.names, arguments.tier, frameworks);
  for (selected_case& s : selected) s.arms = part_of(s.arms, arguments.part);
  std::erase_if(selected, [](const selected_case& s) { return s.arms.empty(); });
  return selected;
}

std::string how_to_run(const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) {
    test_tier first = test_tier::named;
    for (const failure_case& c : all_cases())
      for (const arm& a : c.arms)
        if (names_case(name, c)) first = std::min(first, tier_of(c, a));
    lines += first == test_tier::named
                 ? fmt::format("; the arms of {} run only when named, as CASE/ARM", name)
                 : fmt::format("; --tier {} would run {}", to_string(first), name);
  }
  return lines;
}

std::map<std::string, std::string> usual_environment() {
  return failure_case().add("", arm_kind::control, "", {}).environment;
}

std::vector<selected_case> with_chosen_variables(const std::vector<selected_case>& selected,
                                                 const std::map<std::string, std::string>& chosen,
                                                 std::deque<failure_case>& copies) {
  if (chosen.empty()) return selected;
  const auto usual = usual_environment();
  std::vector<selected_case> all;
  for (const selected_case& s : selected) {
    failure_case& copy = copies.emplace_back(*s.what);
    for (const auto& [name, value] : chosen) {
      const bool compares = std::ranges::any_of(copy.arms, [&variable = name, &usual](const arm& a) {
        const auto set = a.environment.find(variable);
        return set != a.environment.end() && set->second != usual.at(variable);
      });
      if (!compares)
        for (arm& a : copy.arms) a.environment[name] = value;
    }
    selected_case of{&copy, {}, s.named};
    for (const arm* a : s.arms)
      of.arms.push_back(&copy.arms.at(static_cast<std::size_t>(a - s.what->arms.data())));
    all.push_back(std::move(of));
  }
  return all;
}

std::set<std::string> families_of(const std::vector<selected_case>& selected) {
  std::set<std::string> families;
  for (const selected_case& s : selected)
    for (const arm* a : s.arms)
      if (!a->framework.empty()) families.insert(a->framework);
  return families;
}

}  // namespace cufault
