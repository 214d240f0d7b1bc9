// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/merge.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/chance.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/library_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

bool is_compared(const measurement& m) {
  const auto all = compared_measurements();
  return std::ranges::any_of(all, [&](const auto& c) { return fnmatch(c.names, m.name.c_str(), 0) == 0; });
}

/// What comparing needs of an arm.
arm_result example_of(const arm_result& arm) {
  arm_result a;
  a.kind = arm.kind;
  a.races = arm.races;
  for (observation o : arm.trials) {
    o.memory.clear();
    o.notes.clear();
    o.library_log.clear();
    o.stdout_text.clear();
    o.stderr_text.clear();
    std::erase_if(o.measurements, [](const measurement& m) { return !is_compared(m); });
    a.trials.push_back(std::move(o));
  }
  return a;
}

/// Equal where two arms are compared by the same.
std::string exact_text(const arm_result& arm) {
  std::string text = canonical(arm_plateaus(arm));
  for (const auto& o : arm.trials)
    for (const auto& m : o.measurements)
      if (is_compared(m)) text += fmt::format("\n{} {}", m.name, m.value);
  return text;
}

struct exact_result {
  arm_result example{};
  std::vector<std::size_t> members{};
};

/// Of an arm that races.
struct rate {
  signature seen{};
  int trials = 0;
  std::map<std::size_t, int> trials_of{};  // by member
};

struct kept_arm {
  std::string case_name, arm;
  arm_result traits{};                          // of an arm that races, without trials
  std::map<std::string, exact_result> exact{};  // by exact_text()
  std::map<std::string, rate> rates{};          // by canonical()
  std::map<std::size_t, int> trials_of{};       // by member
};

/// Each member's rates against those of all others.
void find_outliers_of_rates(merged_arm& arm, const kept_arm& kept) {
  if (kept.trials_of.size() < 2) return;
  // So that of many members one is called an outlier by chance once in a thousand merges.
  const double least = least_tail / static_cast<double>(kept.trials_of.size());
  for (const auto& [member, trials] : kept.trials_of) {
    expectation others;
    std::vector<counted_signature> mine;
    for (const auto& [text, r] : kept.rates) {
      const auto found = r.trials_of.find(member);
      const int here = found == r.trials_of.end() ? 0 : found->second;
      if (here > 0) mine.push_back({r.seen, here});
      if (const int rest = r.trials - here; rest > 0) {
        others.seen.push_back({.seen = r.seen});
        others.counts.push_back(rest);
      }
    }
    if (const judgement found = judge_rates(kept.traits, mine, others, least); !as_expected(found.v))
      arm.outliers[member] = fmt::format("{}: {}", to_string(found.v), found.why);
  }
  // Of two that share nothing neither is the majority.
  if (arm.outliers.size() * 2 >= kept.trials_of.size() && !arm.outliers.empty()) {
    arm.outliers.clear();
    arm.no_majority = true;
  }
}

merged_arm merged(const kept_arm& kept) {
  if (!kept.rates.empty() &&
      !kept.exact.empty()) {  // it has a rate by trials of some members, and others saw one outcome
    kept_arm all = kept;
    all.exact.clear();
    for (const auto& [text, result] : kept.exact)
      for (const counted_signature& counted : distinct_signatures(result.example.trials)) {
        rate& of = all.rates[canonical({{.seen = counted.seen}})];
        of.seen = counted.seen;
        for (const std::size_t member : result.members)
          of.trials += of.trials_of[member] = kept.trials_of.at(member);
      }
    return merged(all);
  }
  merged_arm arm{.case_name = kept.case_name, .arm = kept.arm, .races = !kept.rates.empty()};
  arm.observed = kept.trials_of.size();
  for (const auto& [member, trials] : kept.trials_of) arm.trials += static_cast<std::size_t>(trials);
  const auto largest_first = [](const auto& a, const auto& b) {
    return std::tuple(b.members.size(), b.trials, a.seen) < std::tuple(a.members.size(), a.trials, b.seen);
  };
  if (arm.races) {
    for (const auto& [text, r] : kept.rates) {
      merged_group group{.seen = describe(r.seen)};
      for (const auto& [member, trials] : r.trials_of) {
        group.members.push_back(member);
        group.trials += static_cast<std::size_t>(trials);
      }
      arm.groups.push_back(std::move(group));
    }
    std::ranges::sort(arm.groups, largest_first);
    find_outliers_of_rates(arm, kept);
    return arm;
  }
  // What differs by an edge or a measurement within its band is one group: that of the most common example.
  std::vector<std::pair<const std::string*, const exact_result*>> each;
  for (const auto& [text, result] : kept.exact) each.emplace_back(&text, &result);
  std::ranges::stable_sort(
      each, [](const auto& a, const auto& b) { return a.second->members.size() > b.second->members.size(); });
  struct group_of {
    merged_group group;
    const arm_result* example;
  };
  std::vector<group_of> groups;
  for (const auto& [text, result] : each) {
    auto same = std::ranges::find_if(groups, [&, of = result](const group_of& g) {
      return is_same(compare_arms(g.example, &of->example).v);
    });
    if (same == groups.end())
      same = groups.insert(groups.end(), {{.seen = describe(result->example)}, &result->example});
    for (const std::size_t member : result->members) {
      same->group.members.push_back(member);
      same->group.trials += static_cast<std::size_t>(kept.trials_of.at(member));
    }
  }
  std::ranges::sort(groups,
                    [&](const group_of& a, const group_of& b) { return largest_first(a.group, b.group); });
  arm.no_majority = groups.size() > 1 && groups.front().group.members.size() * 2 <= arm.observed;
  for (group_of& g : groups) {
    std::ranges::sort(g.group.members);
    if (&g != &groups.front()) {
      const judgement found = compare_arms(groups.front().example, g.example);
      g.group.how = fmt::format("{}: {}", to_string(found.v), found.why);
      if (!arm.no_majority)
        for (const std::size_t member : g.group.members) arm.outliers[member] = g.group.how;
    }
    arm.groups.push_back(std::move(g.group));
  }
  return arm;
}

/// `renamed` maps an index to that after sorting.
void renumber(std::vector<std::size_t>& members, const std::vector<std::size_t>& renamed) {
  for (auto& member : members) member = renamed[member];
  std::ranges::sort(members);
}

}  // namespace

struct merging::state {
  std::vector<merged_member> members;
  std::vector<stack_keys> keys;
  struct run {
    std::string name;
    std::size_t text;  ///< hash of record_text()
  };
  std::map<std::tuple<std::string, std::string, std::uint64_t, std::string>, run> runs;
  std::map<std::string, kept_arm> arms;  // by join_key()
};

merging::merging() : state_(std::make_unique<state>()) {}
merging::~merging() = default;

bool merging::add(const std::string& name, const record& r) {
  const state::run here{name, std::hash<std::string>{}(record_text(r))};
  const auto [there, is_new] =
      state_->runs.emplace(std::tuple(dump_json(*r.stack), r.started, r.seed, r.commit), here);
  if (!is_new && there->second.text != here.text)
    throw input_error(fmt::format("{}: is of the same run as {}, and they differ; give the one that is whole",
                                  name, there->second.name));
  if (!is_new) return false;
  const std::size_t member = state_->members.size();
  const bool without_gpu = r.stack->is_object() && r.stack->contains("gpu") && !(*r.stack)["gpu"].is_object();
  state_->members.push_back({.name = name,
                             .stack = stack_label(r),
                             .started = r.started,
                             .complete = r.complete,
                             .no_gpu = without_gpu ? r.stack->value("no_gpu", std::string("unknown")) : ""});
  stack_keys& keys = state_->keys.emplace_back(keys_of(r));
  for (const file_fact& f : file_facts_of(*r.stack))
    keys[f.name] = fmt::format("{}", fmt::join(f.words, " "));
  for (const case_result& c : r.cases) {
    // Without a working control nothing is proved.
    const bool broken = control_failed(c);
    for (const arm_result& arm : c.arms) {
      if (broken || !observed(arm)) continue;
      ++state_->members[member].observed;
      kept_arm& kept = state_->arms[join_key(c.name, arm.name)];
      kept.case_name = c.name;
      kept.arm = arm.name;
      kept.trials_of[member] = static_cast<int>(arm.trials.size());
      if (arm.races.empty()) {
        exact_result& result = kept.exact[exact_text(arm)];
        if (result.members.empty()) result.example = example_of(arm);
        result.members.push_back(member);
        continue;
      }
      kept.traits = {.name = arm.name,
                     .kind = arm.kind,
                     .races = arm.races,
                     .rate_depends_on_load = arm.rate_depends_on_load};
      for (auto& counted : distinct_signatures(arm.trials)) {
        rate& of = kept.rates[canonical({{.seen = counted.seen}})];
        of.seen = std::move(counted.seen);
        of.trials_of[member] = counted.trials;
        of.trials += counted.trials;
      }
    }
  }
  return true;
}

merged_records merging::result() const {
  merged_records all;
  std::vector<std::size_t> order(state_->members.size()), renamed(state_->members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return state_->members[a].name < state_->members[b].name; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    renamed[order[i]] = i;
    all.members.push_back(state_->members[order[i]]);
  }
  std::set<std::string> keys;
  for (const auto& of : state_->keys)
    for (const auto& [key, value] : of) keys.insert(key);
  for (const auto& key : keys) {
    std::map<std::string, std::vector<std::size_t>> values;
    for (std::size_t i = 0; i < state_->keys.size(); ++i) {
      const auto found = state_->keys[i].find(key);
      values[found == state_->keys[i].end() ? "unknown" : found->second].push_back(renamed[i]);
    }
    if (values.size() < 2) continue;
    for (auto& [value, members] : values) std::ranges::sort(members);
    all.stacks[key] = std::move(values);
  }
  for (const auto& [key, kept] : state_->arms) {
    merged_arm arm = merged(kept);
    for (auto& group : arm.groups) renumber(group.members, renamed);
    std::map<std::size_t, std::string> outliers;
    for (auto& [member, how] : arm.outliers) outliers[renamed[member]] = std::move(how);
    arm.outliers = std::move(outliers);
    for (const auto& [member, how] : arm.outliers) ++all.members[member].outlying;
    all.arms.push_back(std::move(arm));
  }
  return all;
}

int exit_code(const merged_records& m) {
  if (m.arms.empty()) return 2;
  return std::ranges::any_of(m.arms, [](const merged_arm& a) { return a.no_majority || !a.outliers.empty(); })
             ? 1
             : 0;
}

}  // namespace cufault
