// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

bool is_word(std::string_view s) {
  return !s.empty() && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == s.npos;
}

bool is_case_name(std::string_view s) {
  const auto dot = s.find('.');
  return dot != s.npos && is_word(s.substr(0, dot)) && is_word(s.substr(dot + 1));
}

std::string defect_of(const ladder& l) {
  if (l.values.empty()) return "its ladder has no rung";
  // A rung met twice would be run twice and make the edge ambiguous: strictly ascending.
  if (std::adjacent_find(l.values.begin(), l.values.end(), std::greater_equal<>()) != l.values.end()) {
    return "the values of its ladder do not ascend";
  }
  if (l.refine_to < 0) return "its ladder is refined to a negative width";
  return {};
}

std::string defect_of(const arm& a) {
  if (!is_word(a.name)) return "its name is not of a-z, 0-9 and '_'";
  if (!a.body) return "it has no body";
  if (a.timeout <= std::chrono::seconds::zero()) return "its timeout is not positive";
  if (a.repeats < 1) return fmt::format("it is repeated {} times", a.repeats);
  if (!a.races.empty() && a.repeats < 2) return "it races, and one trial tells no rate";
  for (const auto& id : a.claims) {
    if (id.empty()) return "a claim it tests has an empty ID";
  }
  for (const auto& [name, value] : a.environment) {
    if (name.empty() || name.find('=') != name.npos)
      return fmt::format("bad environment variable '{}'", name);
  }
  for (const auto& library : a.preload) {
    // The loader takes both ':' and ' ' as separators and knows no way to escape them.
    if (library.empty() || library.find_first_of(": ") != library.npos) {
      return fmt::format("bad library to preload '{}'", library);
    }
  }
  return a.rungs ? defect_of(*a.rungs) : std::string();
}

// Sorted by name. Function-local, as cases register before main, in an order that nobody chose.
std::vector<failure_case>& registry() {
  static std::vector<failure_case> cases;
  return cases;
}

std::string defect_of_twin(const failure_case& c, const arm& a) {
  const auto natural =
      std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& other) { return other.name == a.twin_of; });
  if (natural == c.arms.end() || natural->kind != arm_kind::fault || a.kind != arm_kind::fault)
    return fmt::format("there is no fault arm '{}' for it to be the twin of", a.twin_of);
  if (!natural->twin_of.empty())
    return fmt::format("'{}', which it is the twin of, is a twin itself", a.twin_of);
  return {};
}

}  // namespace

arm& failure_case::add(std::string name, arm_kind kind, std::string summary, std::function<void(trial&)> body,
                       std::vector<std::string> claims) {
  arm& a = arms.emplace_back();
  a.name = std::move(name);
  a.kind = kind;
  a.summary = std::move(summary);
  a.claims = std::move(claims);
  a.body = std::move(body);
  a.environment = {{"CUDA_MODULE_LOADING", "LAZY"}, {"CUBLAS_WORKSPACE_CONFIG", ""}};
  return a;
}

std::string defect_of(const failure_case& c) {
  if (!is_case_name(c.name)) return "its name is not FAMILY.NAME of a-z, 0-9 and '_'";
  for (const auto& id : c.failures) {
    if (id.empty()) return "a field failure it shows has an empty ID";
  }
  std::set<std::string> names;
  for (const auto& a : c.arms) {
    auto defect = defect_of(a);
    if (defect.empty() && !a.twin_of.empty()) defect = defect_of_twin(c, a);
    if (!defect.empty()) return fmt::format("arm '{}': {}", a.name, defect);
    if (!names.insert(a.name).second) return fmt::format("two arms are named '{}'", a.name);
  }
  for (const auto& a : c.arms) {
    const auto answered =
        std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& f) { return f.name == a.against; });
    if (answered != c.arms.end() && in_its_tier(c, a) && !in_its_tier(c, *answered))
      return fmt::format("arm '{}' is in the tier of its case, and '{}', which it answers, is not", a.name,
                         a.against);
    if (!a.against.empty() && (answered == c.arms.end() || answered->kind != arm_kind::fault))
      return fmt::format("arm '{}': there is no fault arm '{}' for it to answer", a.name, a.against);
  }
  for (const auto& name : c.in_tier) {
    if (!names.contains(name)) return fmt::format("there is no arm '{}' for its tier", name);
  }
  const auto has = [&](arm_kind kind, bool in_tier_alone) {
    return std::any_of(c.arms.begin(), c.arms.end(),
                       [&](const arm& a) { return a.kind == kind && (!in_tier_alone || in_its_tier(c, a)); });
  };
  if (!has(arm_kind::control, false)) return "it has no control arm";
  if (!has(arm_kind::fault, false)) return "it has no fault arm";
  if (!has(arm_kind::control, true)) return "its tier has no control arm";
  if (!has(arm_kind::fault, true)) return "its tier has no fault arm";
  return {};
}

bool in_its_tier(const failure_case& c, const arm& a) {
  return c.in_tier.empty() || std::find(c.in_tier.begin(), c.in_tier.end(), a.name) != c.in_tier.end();
}

const std::vector<failure_case>& all_cases() {
  return registry();
}

register_case::register_case(failure_case c) {
  auto& cases = registry();
  const auto by_name = [](const failure_case& a, const failure_case& b) { return a.name < b.name; };
  const auto place = std::lower_bound(cases.begin(), cases.end(), c, by_name);
  auto defect = defect_of(c);
  if (defect.empty() && place != cases.end() && place->name == c.name) defect = "another case has that name";
  if (!defect.empty()) {
    fmt::print(stderr, "cufault: case '{}' is malformed: {}\n", c.name, defect);
    // Before main there is nobody to catch an exception, and nothing yet that needs to be torn down.
    std::_Exit(2);
  }
  cases.insert(place, std::move(c));
}

}  // namespace cufault
