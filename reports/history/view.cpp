// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/view.hpp"

#include "reports/evidence/distance.hpp"
#include "reports/judge/chance.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

/// A number of any length as text that sorts like it: by its digits, then by them.
std::string sortable(std::string_view version) {
  std::string text;
  for (std::size_t i = 0; i < version.size();) {
    const auto digit = [&](std::size_t at) {
      return at < version.size() && std::isdigit(static_cast<unsigned char>(version[at])) != 0;
    };
    if (!digit(i)) {
      text += version[i++];
      continue;
    }
    while (version[i] == '0' && digit(i + 1)) ++i;
    const std::size_t start = i;
    while (digit(i)) ++i;
    text += static_cast<char>(std::min<std::size_t>(i - start, 127));
    text += version.substr(start, i - start);
  }
  return text;
}

std::vector<std::string> order_of(const history_stack& s) {
  std::vector<std::string> order;
  auto rest = s.keys;
  for (const char* key : {"compute_capability", "driver", "cublas", "cublaslt", "runtime"}) {
    order.push_back(rest.contains(key) ? sortable(rest[key]) : std::string());
    rest.erase(key);
  }
  order.push_back(s.gpu);
  for (const auto& [key, value] : rest) {
    order.push_back(key);
    order.push_back(sortable(value));
  }
  return order;
}

/// Do two stacks show the same? Where the arm races, if they share a result; else if most runs do.
bool alike(const history_entry& a, const history_entry& b) {
  if (!a.races && !b.races) return a.results.front().id == b.results.front().id;
  std::set<int> ids;
  for (const auto& r : a.results) ids.insert(r.id);
  return std::ranges::any_of(b.results, [&](const history_result& r) { return ids.contains(r.id); });
}

/// Of every two stacks how far they are from each other, for arms of a case. Stacks of which one says nothing of the other are furthest.
class distances {
 public:
  explicit distances(const std::vector<history_stack>& stacks) : stacks_(stacks) {}
  int between(const std::string& case_name, std::size_t a, std::size_t b) {
    static const arm_result on_a_gpu{.trials = {observation{}}};
    const auto keys = keys_that_matter(case_name, on_a_gpu);
    const auto [at, is_new] = known_.try_emplace({keys, a, b}, 0);
    if (is_new)
      at->second = distance(stacks_[a].keys, stacks_[b].keys, keys).value_or(std::numeric_limits<int>::max());
    return at->second;
  }

 private:
  const std::vector<history_stack>& stacks_;
  std::map<std::tuple<std::vector<std::string_view>, std::size_t, std::size_t>, int> known_;
};

using trials_by_result = std::map<int, std::size_t>;

void propose(history_view& view, const history_arm& arm, const history_entry& e) {
  std::vector<std::pair<std::string, trials_by_result>> runs;  // the latest first
  for (auto sample = e.samples.rbegin(); sample != e.samples.rend(); ++sample) {
    if (runs.empty() || runs.back().first != sample->started) runs.push_back({sample->started, {}});
    runs.back().second[sample->id] += sample->trials;
  }
  if (runs.size() < runs_that_heal) return;
  std::size_t steady = 0;
  while (steady < runs.size() && runs[steady].second.size() == 1 &&
         runs[steady].second.begin()->first == runs[0].second.begin()->first)
    ++steady;
  const std::size_t latest = std::max(runs_that_heal, steady);
  trials_by_result now, before;
  std::size_t trials_now = 0, trials_before = 0;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [id, trials] : runs[i].second) {
      (i < latest ? now : before)[id] += trials;
      (i < latest ? trials_now : trials_before) += trials;
    }
  for (const history_result& r : e.results) {
    const bool heals = steady >= runs_that_heal && r.id == runs[0].second.begin()->first;
    const bool moved =
        steady < runs_that_heal && trials_before > 0 &&
        chance_of_difference(static_cast<int>(now[r.id]), static_cast<int>(trials_now),
                             static_cast<int>(before[r.id]), static_cast<int>(trials_before)) < least_tail;
    if (!heals && !moved) continue;
    view.proposals.push_back({arm.name, e.stack, heals, latest, runs[latest - 1].first, runs[0].first, r.seen,
                              now[r.id], trials_now, before[r.id], trials_before});
    return;
  }
}

}  // namespace

void arrange(history_view& view) {
  std::vector<std::size_t> order(view.stacks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<std::string>> keys;
  for (const auto& s : view.stacks) keys.push_back(order_of(s));
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  std::vector<std::size_t> place(order.size());
  std::vector<history_stack> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(view.stacks[order[i]]));
  }
  view.stacks = std::move(sorted);

  for (auto& arm : view.arms) {
    for (auto& entry : arm.entries) {
      entry.stack = place[entry.stack];
      std::ranges::sort(entry.results, [](const auto& a, const auto& b) {
        return std::tuple(b.runs, b.trials, a.seen) < std::tuple(a.runs, a.trials, b.seen);
      });
      std::ranges::stable_sort(entry.samples,
                               [](const auto& a, const auto& b) { return a.started < b.started; });
    }
    std::ranges::sort(arm.entries, [](const auto& a, const auto& b) { return a.stack < b.stack; });
  }
  std::ranges::stable_sort(view.arms, [](const auto& a, const auto& b) { return a.name < b.name; });
  distances far(view.stacks);
  for (auto& arm : view.arms) {
    const std::string case_name = arm.name.substr(0, arm.name.find('/'));
    for (std::size_t i = 0; i < arm.entries.size(); ++i) {
      history_entry& e = arm.entries[i];
      int least = std::numeric_limits<int>::max();
      for (std::size_t j = 0; j < i; ++j)
        if (const int away = far.between(case_name, arm.entries[j].stack, e.stack); away <= least) {
          least = away;
          e.nearest = j;
        }
      e.changed = e.nearest && !alike(arm.entries[*e.nearest], e);
      if (e.races) propose(view, arm, e);
    }
    arm.since = arm.entries.size() - 1;
    while (arm.entries[arm.since].nearest && !arm.entries[arm.since].changed)
      arm.since = *arm.entries[arm.since].nearest;
  }
}

}  // namespace cufault
