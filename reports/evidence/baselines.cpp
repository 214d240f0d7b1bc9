// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/baselines.hpp"

#include "reports/model/api_functions.hpp"
#include "reports/model/frameworks.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct recorded_arm {
  const arm_result* arm = nullptr;
  std::vector<std::string_view> keys;  // that matter
};

struct recorded_family {
  record all;
  std::unordered_map<std::string, recorded_arm> arms;  // that say something, by join_key()
};

struct recorded_stack {
  fs::path folder;
  std::size_t rank = 0;  // of its baseline: 0 comes first
  stack_keys keys;
  std::string gpu;
  std::map<std::string, recorded_family> families;
  bool left_out = false;
};

struct candidate : recorded_arm {
  const recorded_stack* stack = nullptr;
  int distance = 0;
};

std::string label_of(const recorded_stack& s, std::span<const std::string_view> keys) {
  std::string label = s.gpu;
  const auto add = [&](std::string_view name, std::string_view key) {
    if (const auto found = s.keys.find(std::string(key)); found != s.keys.end())
      label += fmt::format("{}{} {}", label.empty() ? "" : ", ", name, found->second);
  };
  for (const python_framework& f : python_frameworks)
    if (std::ranges::find(keys, f.name) != keys.end()) add(f.title, f.name);
  add("cuBLAS", "cublas");
  if (std::ranges::find(keys, "other_cublas") != keys.end()) add("second cuBLAS", "other_cublas");
  for (const step_library& each : step_libraries)
    if (each.binding == library_binding::own && std::ranges::find(keys, each.key) != keys.end())
      add(each.title, each.key);
  return label;
}

/// In how many keys two stacks are equal.
std::size_t equal_keys(const stack_keys& a, const stack_keys& b) {
  return static_cast<std::size_t>(std::ranges::count_if(a, [&](const auto& key) {
    const auto other = b.find(key.first);
    return other != b.end() && other->second == key.second;
  }));
}

/// Of the keys that matter, the first whose version differs; empty where only the architecture does.
std::string_view differing_key(const candidate& c, const stack_keys& here) {
  for (const std::string_view key : c.keys)
    if (key != "compute_capability" && distance(c.stack->keys, here, std::span(&key, 1)) > 0) return key;
  return {};
}

std::string key_or_none(const stack_keys& keys, std::string_view key) {
  const auto known = keys.find(std::string(key));
  return known == keys.end() ? std::string() : known->second;
}

version version_of(const stack_keys& keys, std::string_view key) {
  return version_from(key_or_none(keys, key));
}

}  // namespace

struct baselines::state {
  std::deque<recorded_stack> stacks;
  std::vector<std::string> problems;
  std::deque<arm_result> pooled;
  struct asked_stack {
    std::vector<recorded_stack*> near;  // that can be at distance 0; all of them where it has no keys
    std::unordered_map<std::string, std::optional<reference>> known;
  };
  std::map<stack_keys, asked_stack> asked;

  asked_stack& asked_by(const stack_keys& here) {
    static const auto any_key = [] {
      std::vector<std::string_view> keys{"cublas", "compute_capability"};
      for (const python_framework& f : python_frameworks) keys.push_back(f.name);
      return keys;
    }();
    const auto [at, is_new] = asked.try_emplace(here);
    if (is_new)
      for (recorded_stack& s : stacks) {
        stack_keys shared = here;
        std::erase_if(shared, [&](const auto& k) { return !s.keys.contains(k.first); });
        if (!s.left_out && distance(s.keys, shared, any_key) == 0) at->second.near.push_back(&s);
      }
    return at->second;
  }

  const recorded_family& family(recorded_stack& s, const std::string& name) {
    auto [at, is_new] = s.families.try_emplace(name);
    if (!is_new) return at->second;
    at->second.all = load_family(s.folder, name, [&](const std::string& bad) { problems.push_back(bad); });
    for (const case_result& c : at->second.all.cases)
      for (const arm_result& a : c.arms)
        if (observed(a))
          at->second.arms.emplace(join_key(c.name, a.name), recorded_arm{&a, keys_that_matter(c.name, a)});
    return at->second;
  }

  /// Those of `among` that have the arm and say something of it, the best first.
  std::vector<candidate> candidates(const std::string& case_name, const std::string& key,
                                    const stack_keys& here, const std::vector<recorded_stack*>& among) {
    const std::string family_name = family_of_case(case_name);
    std::vector<candidate> found;
    for (recorded_stack* const s : among) {
      const auto& arms = family(*s, family_name).arms;
      const auto at = arms.find(key);
      const auto far = at == arms.end() ? std::nullopt : distance(s->keys, here, at->second.keys);
      if (far) found.push_back({{at->second}, s, *far});
    }
    std::ranges::stable_sort(found, {}, [&](const candidate& c) {
      return std::tuple{c.distance, c.stack->rank, -static_cast<int>(equal_keys(c.stack->keys, here)),
                        !c.arm->expected};
    });
    return found;
  }

  expectation expect(const candidate& c, std::span<const candidate> same) {
    const arm_result* shown = c.arm;
    bool races = !shown->races.empty();
    if (races && same.size() > 1) {
      arm_result& all = pooled.emplace_back();
      for (const candidate& each : same) pool(all, *each.arm);
      shown = &all;
    }
    expectation e = expectation_of(*shown, races);
    e.shown = shown;
    e.stack = label_of(*c.stack, c.keys);
    return e;
  }

  std::optional<reference> look_up(const std::string& case_name, const std::string& key,
                                   const stack_keys& here) {
    std::vector<candidate> all = candidates(case_name, key, here, asked_by(here).near);
    if (all.empty() || all.front().distance > 0)  // reads the families of all stacks
      all = candidates(case_name, key, here, asked_by({}).near);
    if (all.empty()) return std::nullopt;
    reference e{.distance = all.front().distance};
    if (e.distance > 0) std::erase_if(all, [](const candidate& c) { return !c.arm->expected; });
    if (all.empty() || !all.front().arm->expected) {
      e.undefined = true;
      return e;
    }
    const candidate& best = all.front();
    e.distance = best.distance;
    if (e.distance == 0) {
      std::vector<candidate> same;
      for (const candidate& c : all)
        if (c.distance == 0 && c.arm->expected && c.stack->rank == best.stack->rank) same.push_back(c);
      e.from.push_back(expect(best, same));
      return e;
    }
    // Versions of one library on one architecture: the nearest below, and the nearest above.
    const std::string_view part = differing_key(best, here);
    const version now = version_of(here, part);
    const candidate *below = part.empty() ? &best : nullptr, *above = nullptr;
    for (const candidate& c : all) {
      if (part.empty() || c.distance / other_architecture != best.distance / other_architecture ||
          differing_key(c, here) != part)
        continue;
      // Versions on two other architectures are no bracket.
      if (best.distance >= other_architecture && key_or_none(c.stack->keys, "compute_capability") !=
                                                     key_or_none(best.stack->keys, "compute_capability"))
        continue;
      const version then = version_of(c.stack->keys, part);
      if (then < now && (below == nullptr || version_of(below->stack->keys, part) < then)) below = &c;
      if (now < then && (above == nullptr || then < version_of(above->stack->keys, part))) above = &c;
    }
    for (const candidate* c : {below, above})
      if (c != nullptr) e.from.push_back(expect(*c, std::span(c, 1)));
    return e;
  }
};

expectation expectation_of(const arm_result& arm, bool races) {
  expectation e{.shown = &arm};
  if (!races) {
    e.seen = plateaus_of(arm.trials);
    return e;
  }
  for (counted_signature& counted : distinct_signatures(arm.trials)) {
    e.seen.push_back({.seen = std::move(counted.seen)});
    e.counts.push_back(counted.trials);
  }
  return e;
}

baselines::baselines() : state_(std::make_unique<state>()) {}
baselines::~baselines() = default;
baselines::baselines(baselines&&) noexcept = default;
baselines& baselines::operator=(baselines&&) noexcept = default;

baselines::baselines(const std::vector<fs::path>& folders) : baselines() {
  for (std::size_t rank = 0; rank < folders.size(); ++rank)
    for (const fs::path& folder : stacks_in(folders[rank])) try {
        const record r = load_family(folder, {}, {});
        std::string gpu = gpu_name(*r.stack);
        if (gpu.starts_with("NVIDIA ")) gpu.erase(0, 7);
        state_->stacks.push_back({folder, rank, keys_of(r), std::move(gpu), {}});
      } catch (const input_error& bad) {
        state_->problems.emplace_back(bad.what());
      }
}

const reference* baselines::find(const std::string& case_name, const std::string& arm,
                                 const stack_keys& here) const {
  const auto [at, is_new] = state_->asked_by(here).known.try_emplace(join_key(case_name, arm));
  if (is_new) at->second = state_->look_up(case_name, at->first, here);
  return at->second ? &*at->second : nullptr;
}

const std::vector<std::string>& baselines::problems() const {
  return state_->problems;
}

void baselines::leave_out(const std::function<bool(const std::string&, const stack_keys&)>& which) {
  for (recorded_stack& s : state_->stacks) s.left_out = which(s.folder.filename(), s.keys);
  state_->asked.clear();
  state_->pooled.clear();
}

}  // namespace cufault
