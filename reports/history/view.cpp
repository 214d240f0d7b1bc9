// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/view.hpp"

#include <algorithm>
#include <cctype>
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
  std::vector<std::string> order{s.gpu};
  auto rest = s.keys;
  for (const char* key : {"driver", "cublas", "cublaslt", "runtime"}) {
    order.push_back(rest.contains(key) ? sortable(rest[key]) : std::string());
    rest.erase(key);
  }
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
  return std::any_of(b.results.begin(), b.results.end(),
                     [&](const history_result& r) { return ids.contains(r.id); });
}

}  // namespace

void arrange(history_view& view) {
  std::vector<std::size_t> order(view.stacks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<std::string>> keys;
  for (const auto& s : view.stacks) keys.push_back(order_of(s));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
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
      std::sort(entry.results.begin(), entry.results.end(), [](const auto& a, const auto& b) {
        return std::tuple(b.runs, b.trials, a.seen) < std::tuple(a.runs, a.trials, b.seen);
      });
    }
    std::sort(arm.entries.begin(), arm.entries.end(),
              [](const auto& a, const auto& b) { return a.stack < b.stack; });
  }
  // An arm of several GPUs is several: one GPU says nothing of another.
  std::vector<history_arm> by_gpu;
  for (auto& arm : view.arms) {
    for (auto& entry : arm.entries) {
      const bool other = by_gpu.empty() || by_gpu.back().name != arm.name ||
                         view.stacks[by_gpu.back().entries.back().stack].gpu != view.stacks[entry.stack].gpu;
      if (other) by_gpu.push_back({.name = arm.name});
      by_gpu.back().entries.push_back(std::move(entry));
    }
  }
  view.arms = std::move(by_gpu);
  std::stable_sort(view.arms.begin(), view.arms.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& arm : view.arms) {
    arm.since = arm.entries.size() - 1;
    while (arm.since > 0 && alike(arm.entries[arm.since - 1], arm.entries.back())) --arm.since;
  }
}

}  // namespace cufault
