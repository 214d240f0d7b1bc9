// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/changes.hpp"

#include "reports/evidence/distance.hpp"
#include "reports/history/transitions.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/usual_messages.hpp"
#include "reports/matrix/conditions.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

namespace cufault {
namespace {

struct kept_arm {
  std::shared_ptr<const arm_result> arm{};
  std::shared_ptr<const std::set<std::string>> facts{};  ///< that its case recorded anywhere
  std::size_t release = 0, first = 0;                    ///< the last that observed it, and the first
  std::map<call_name, std::size_t> changed{};            ///< when a call became what it is
  std::vector<std::size_t> open{};                       ///< events whose calls are still what they became
};

struct event {
  std::string case_name{}, arm{};
  std::size_t since = 0, after = 0, at_latest = 0, until = 0;
  transition how{};
  std::string why{}, driver_before{}, driver_since{};
  bool made_up = false;
};

/// A cell without a remedy, as an example of which the outcome is not known yet.
std::optional<example> example_of_cell(const std::string& case_name, const std::string& arm) {
  const auto at = case_name.starts_with(matrix_family) ? cell_named(arm) : std::nullopt;
  if (!at || !at->remedy.empty()) return {};
  example e{.name = join_key(case_name, arm)};
  e.properties = {
      {"state", at->state}, {"operation", at->operation}, {"fault", case_name.substr(matrix_family.size())}};
  if (!at->timing.empty()) e.properties["timing"] = at->timing;
  return e;
}

bool completed_well(const observation& o) {
  return o.ended == outcome::completed && !failed(signature_of(o)) &&
         std::ranges::all_of(o.calls, [](const call_record& call) { return call.what.ok; });
}

/// Messages in trials in which nothing failed: they say nothing of why a call fails elsewhere.
std::set<std::string> harmless_messages(const record& r) {
  std::set<std::string> found;
  for (const case_result& c : r.cases)
    for (const arm_result& arm : c.arms)
      for (const observation& o : arm.trials)
        if (completed_well(o) && !c.name.starts_with(sweep_family))
          for (const call_record& call : o.calls)
            for (const driver_message& m : call.driver) found.insert(key_of(m));
  return found;
}

/// Empty where its log was not heard, or the driver said nothing.
std::string words_of_driver(const arm_result& arm, const step_name& call,
                            const std::set<std::string>& harmless) {
  if (!heard_driver_log(arm)) return {};
  for (const observation& o : arm.trials)
    for (const call_record& c : o.calls)
      if (c.what.name == call && !c.what.ok)
        for (const driver_message& why : c.driver)
          if (!harmless.contains(key_of(why)))
            return why.code.empty() ? general_text(why.text) : describe(why);
  return {};
}

/// What arms are of: the family of the case; of the matrix faults that share their first word.
std::string group_of(const std::string& case_name) {
  if (!case_name.starts_with(matrix_family)) return case_name.substr(0, case_name.find('.'));
  const auto word = case_name.find('_', matrix_family.size());
  return word == case_name.npos ? case_name : case_name.substr(0, word) + "_*";
}

}  // namespace

struct change_finder::state {
  std::vector<release_changes::release> releases;
  std::vector<std::set<std::string>> harmless;
  std::vector<std::size_t> follows;
  std::unordered_map<std::string, kept_arm> arms;
  std::map<std::size_t, std::unordered_map<std::string, kept_arm>>
      arms_at;  // releases that others follow later
  std::vector<event> events;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<example>> cells;  // that two releases observed
  std::set<std::string> by_cufault, compared, changed;
};

change_finder::change_finder(std::vector<std::size_t> follows) : state_(std::make_unique<state>()) {
  state_->follows = std::move(follows);
}
change_finder::~change_finder() = default;

void change_finder::add(const std::string& version, record r) {
  state& s = *state_;
  const std::size_t here = s.releases.size();
  const auto followed_by = [&](std::size_t i) { return i < s.follows.size() ? s.follows[i] : i - 1; };
  if (here > 0 && followed_by(here) + 1 != here) s.arms = s.arms_at[followed_by(here)];
  s.releases.push_back({.version = version});
  s.harmless.push_back(harmless_messages(r));
  for (case_result& c : r.cases) {
    if (c.name.starts_with(sweep_family) || control_failed(c)) continue;
    const auto facts = std::make_shared<const std::set<std::string>>(facts_recorded_by(c));
    for (arm_result& arm : c.arms) {
      if (!observed(arm) || arm.second_cublas) continue;
      ++s.releases.back().observed;
      if (!keep_what_came_after(arm)) continue;
      const std::string name = join_key(c.name, arm.name);
      const auto [known, fresh] = s.arms.try_emplace(name);
      kept_arm& kept = known->second;
      if (fresh) {
        kept.arm = std::make_shared<const arm_result>(std::move(arm));
        kept.facts = facts;
        kept.release = kept.first = here;
        continue;
      }
      const bool next = kept.release == followed_by(here);
      ++s.releases.back().compared;
      s.releases.back().next_compared += next ? 1 : 0;
      s.compared.insert(name);
      if (auto cell = example_of_cell(c.name, arm.name))
        s.cells[{kept.release, here}].push_back(*std::move(cell));
      auto [transitions, differs, why] = change_of_arm(*kept.arm, *kept.facts, arm, *facts);
      if (differs && transitions.empty()) s.by_cufault.insert(name);
      std::set<call_name> changed;
      for (transition& t : transitions) {
        if (t.names.empty()) t.names = {{false, "", t.what, 0}};
        changed.insert(t.names.begin(), t.names.end());
      }
      std::erase_if(kept.open, [&](std::size_t e) {
        const bool over = std::ranges::any_of(s.events[e].how.names,
                                              [&](const call_name& call) { return changed.contains(call); });
        if (!over) s.events[e].until = here;
        return over;
      });
      for (transition& t : transitions) {
        std::size_t since = kept.first;
        for (const call_name& call : t.names)
          if (const auto known = kept.changed.find(call); known != kept.changed.end())
            since = std::max(since, known->second);
        kept.open.push_back(s.events.size());
        const step_name call = t.first;
        s.events.push_back({.case_name = c.name,
                            .arm = arm.name,
                            .since = since,
                            .after = kept.release,
                            .at_latest = here,
                            .until = here,
                            .how = std::move(t),
                            .why = why,
                            .driver_before = words_of_driver(*kept.arm, call, s.harmless[kept.release]),
                            .driver_since = words_of_driver(arm, call, s.harmless[here]),
                            .made_up = is_made_up(arm)});
      }
      for (const call_name& call : changed) kept.changed[call] = here;
      if (!changed.empty()) s.changed.insert(name);
      s.releases.back().changed += transitions.empty() ? 0 : 1;
      s.releases.back().next_changed += next && !transitions.empty() ? 1 : 0;
      kept.arm = std::make_shared<const arm_result>(std::move(arm));
      kept.facts = facts;
      kept.release = here;
    }
  }
  for (std::size_t i = here + 2; i < s.follows.size(); ++i)
    if (s.follows[i] == here) s.arms_at[here] = s.arms;
}

namespace {

/// Changes of fewer arms are joined across families, and left out first.
constexpr std::size_t small = 4;

/// The text that most have; empty where most have none.
std::string most_frequent(const std::map<std::string, std::size_t>& texts) {
  const auto most =
      std::ranges::max_element(texts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == texts.end() ? std::string() : most->first;
}

/// Which of the cells that both releases observed changed.
std::string where_cells_changed(std::vector<example> cells, const std::string& group,
                                const std::vector<std::string>& changed) {
  constexpr std::size_t readable = 160;
  std::erase_if(cells,
                [&](const example& e) { return group_of(e.name.substr(0, e.name.find('/'))) != group; });
  for (example& e : cells) e.outcome = std::ranges::binary_search(changed, e.name) ? "changed" : "same";
  constexpr std::array<std::string_view, 4> preferred{"state", "timing", "fault", "operation"};
  if (cells.size() < 2) return {};
  const auto lines = describe_where(rules_for(std::move(cells), {.preferred = preferred}), "changed", "cell");
  const bool says = lines.size() == 1 && lines[0].size() <= readable && !lines[0].starts_with("without");
  return says ? lines[0] : std::string();
}

/// What the events of a change have in common.
struct group_key {
  std::size_t at_latest, after;
  harm how;
  std::string from, to, what, of;
  std::size_t until;  // of those that several families share
  friend auto operator<=>(const group_key&,
                          const group_key&) = default;  // NOLINT(modernize-use-nullptr): there is none
};

}  // namespace

release_changes change_finder::found() const {
  const state& s = *state_;
  release_changes all{.releases = s.releases};
  for (const std::string& name : s.compared) all.steady += s.changed.contains(name) ? 0 : 1;
  for (const std::string& name : s.by_cufault)
    if (!s.changed.contains(name)) all.by_cufault.push_back(name);
  std::map<group_key, std::vector<const event*>> groups;
  for (const event& e : s.events)
    groups[{e.at_latest, e.after, e.how.how, e.how.from, e.how.to, e.how.what, group_of(e.case_name), 0}]
        .push_back(&e);
  // Small ones that differ in what they are of alone, and last as long, become one.
  for (auto group = groups.begin(); group != groups.end();) {
    if (group->first.of.empty() || group->second.size() >= small) {
      ++group;
      continue;
    }
    group_key together = group->first;
    together.of.clear();
    together.until = std::ranges::min(group->second, {}, &event::until)->until;
    auto& into = groups[together];
    into.insert(into.end(), group->second.begin(), group->second.end());
    group = groups.erase(group);
  }
  for (const auto& [k, events] : groups) {
    const event& first = *events.front();
    release_change c{.how = first.how.how,
                     .after = s.releases[first.after].version,
                     .at_latest = s.releases[first.at_latest].version,
                     .from = first.how.from,
                     .to = first.how.to,
                     .what = first.how.what,
                     .of = k.of,
                     .example = first.why,
                     .made_up = true};
    std::set<std::string> details, of;
    std::size_t since = first.since, until = first.until;
    std::map<std::string, std::size_t> before, now;
    for (const event* e : events) {
      since = std::max(since, e->since);
      until = std::min(until, e->until);
      for (const auto& [api, times] : e->how.calls) c.calls[api] += times;
      c.arms.push_back(join_key(e->case_name, e->arm));
      if (!e->driver_before.empty()) ++before[e->driver_before];
      if (!e->driver_since.empty()) ++now[e->driver_since];
      if (!e->how.detail.empty()) details.insert(e->how.detail);
      of.insert(group_of(e->case_name));
      c.severe = c.severe || e->how.severe;
      c.made_up = c.made_up && e->made_up;
    }
    c.details.assign(details.begin(), details.end());
    c.of = fmt::format("{}", fmt::join(of, ", "));
    c.since = s.releases[since].version;
    c.until = s.releases[until].version;
    c.driver_before = most_frequent(before);
    c.driver_since = most_frequent(now);
    std::ranges::sort(c.arms);
    c.arms.erase(std::unique(c.arms.begin(), c.arms.end()), c.arms.end());
    const auto cells = s.cells.find({first.after, first.at_latest});
    if (cells != s.cells.end() && of.size() == 1 && c.of.starts_with(matrix_family) && c.arms.size() >= small)
      c.where = where_cells_changed(cells->second, c.of, c.arms);
    all.changes.push_back(std::move(c));
  }
  std::ranges::stable_sort(all.changes, [](const release_change& a, const release_change& b) {
    return std::tuple(a.how, version_from(b.at_latest), b.arms.size(), version_from(b.after), a.of, a.from,
                      a.to) < std::tuple(b.how, version_from(a.at_latest), a.arms.size(),
                                         version_from(a.after), b.of, b.from, b.to);
  });
  return all;
}

std::string to_string(harm h) {
  constexpr std::array names{"wrong_numbers", "crash", "hang", "worse_status", "other", "better"};
  return names[static_cast<std::size_t>(h)];
}

std::optional<release_of_stack> release_of(const record& r, const std::string& framework) {
  const nlohmann::json& stack = *r.stack;
  const auto key = [&](const char* name) { return key_of(stack, name); };
  release_of_stack of{key(framework.empty() ? "cublas" : framework.c_str()), gpu_name(stack), key("driver")};
  of.version = of.version.substr(0, of.version.find('+'));
  if (version_from(of.version).empty() || of.gpu.empty() || of.driver.empty()) return {};
  if (const auto second = key("other_cublas"); !framework.empty())
    return second.empty() || second == "none" ? std::optional(of) : std::nullopt;
  if (const auto lt = key("cublaslt"); !lt.empty() && lt != of.version) return {};
  for (const char* each : {"pytorch", "jax", "cupy"})
    if (!key(each).empty()) return {};
  return of;
}

release_columns columns_of(const std::vector<std::optional<release_of_stack>>& stacks, std::string_view gpu) {
  std::map<std::pair<std::string, std::string>,
           std::map<version, std::pair<std::string, std::vector<std::size_t>>>>
      machines;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (!stacks[i] || stacks[i]->gpu.find(gpu) == std::string::npos) continue;
    auto& [name, indexes] = machines[{stacks[i]->gpu, stacks[i]->driver}][version_from(stacks[i]->version)];
    name = stacks[i]->version;
    indexes.push_back(i);
  }
  const auto most = std::ranges::max_element(
      machines, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  release_columns columns;
  if (most == machines.end()) return columns;
  std::tie(columns.gpu, columns.driver) = most->first;
  for (const auto& [sorted, release] : most->second) columns.releases.push_back(release);
  return columns;
}

}  // namespace cufault
