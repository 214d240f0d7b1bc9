// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

#include "harness/model/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

bool is_case_name(std::string_view s) {
  const auto dot = s.find('.');
  return dot != s.npos && is_word(s.substr(0, dot)) && is_word(s.substr(dot + 1));
}

bool is_arm_name(std::string_view s) {
  for (std::size_t end = s.find_first_of(".+"); end != s.npos; end = s.find_first_of(".+")) {
    if (!is_word(s.substr(0, end))) return false;
    s.remove_prefix(end + 1);
  }
  return is_word(s);
}

std::string defect_of(const level_range& l) {
  if (l.values.empty()) return "its level range has no level";
  // Strictly ascending: a repeated level would run twice and make the edge ambiguous.
  if (std::adjacent_find(l.values.begin(), l.values.end(), std::greater_equal<>()) != l.values.end()) {
    return "the values of its level range do not ascend";
  }
  if (l.refine_to < 0) return "its level range is refined to a negative width";
  return {};
}

std::string defect_of(const arm& a) {
  if (!is_arm_name(a.name)) return "its name is not of a-z, 0-9 and '_', in words joined by '.' or '+'";
  if (!a.body && a.framework.empty()) return "it has no body";
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
    // The loader separates libraries by ':' and ' ' and has no escape.
    if (library.empty() || library.find_first_of(": ") != library.npos) {
      return fmt::format("bad library to preload '{}'", library);
    }
  }
  // An interpreter that forks trials of frameworks starts with the arm's libraries.
  const bool own_libraries = !a.preload.empty() && a.framework.empty();
  const bool own_process = a.levels || own_libraries || a.other_cublas || a.binds_itself ||
                           a.limits.address_space_bytes || a.limits.open_files || !a.counterpart_of.empty();
  if (a.shares_process && own_process)
    return "it shares a process, and has levels, limits, libraries or injections of its own";
  if (!a.batch.empty() && !a.shares_process) return "it is of a batch, and shares no process";
  return a.levels ? defect_of(*a.levels) : std::string();
}

struct case_source {
  std::string family;
  register_cases::maker made;
  bool done = false;  ///< all its cases are registered
};

// Function-local, because cases register before main.
std::vector<case_source>& sources() {
  static std::vector<case_source> all;
  return all;
}

std::string defect_of_counterpart(const failure_case& c, const arm& a) {
  const auto natural = std::find_if(c.arms.begin(), c.arms.end(),
                                    [&](const arm& other) { return other.name == a.counterpart_of; });
  if (natural == c.arms.end() || natural->kind != arm_kind::fault || a.kind != arm_kind::fault)
    return fmt::format("there is no fault arm '{}' for it to be the counterpart of", a.counterpart_of);
  if (!natural->counterpart_of.empty())
    return fmt::format("'{}', which it is the counterpart of, is a counterpart itself", a.counterpart_of);
  return {};
}

}  // namespace

arm& failure_case::add(text name, arm_kind kind, text summary, to_run body, ids claims) {
  arm& a = arms.emplace_back();
  a.name = std::move(name);
  a.kind = kind;
  a.summary = std::move(summary);
  a.claims = std::move(claims);
  a.body = std::move(body);
  a.environment = {{"CUDA_MODULE_LOADING", "LAZY"}, {"CUBLAS_WORKSPACE_CONFIG", ""}};
  return a;
}

arm& failure_case::add_framework(text name, arm_kind kind, text summary, ids claims) {
  arm& a = add(std::move(name), kind, std::move(summary), {}, std::move(claims));
  a.framework = this->name.substr(0, this->name.find('.'));
  a.timeout = std::chrono::seconds(120);  // importing a framework may take long
  return a;
}

void failure_case::share_process(const std::vector<std::string>& but) {
  for (arm& a : arms) a.shares_process = std::find(but.begin(), but.end(), a.name) == but.end();
}

void failure_case::run_beside_others(const std::vector<std::string>& names) {
  for (arm& a : arms) a.beside_others = std::find(names.begin(), names.end(), a.name) != names.end();
}

void failure_case::fail_on_any_architecture(const std::vector<std::string>& names) {
  for (arm& a : arms) a.any_architecture = std::find(names.begin(), names.end(), a.name) != names.end();
}

void failure_case::repeat_undefined(const std::vector<std::string>& names, const std::string& why,
                                    int trials) {
  for (arm& a : arms)
    if (std::find(names.begin(), names.end(), a.name) != names.end()) {
      a.races = why;
      a.undefined = true;
      a.repeats = trials;
    }
}

void failure_case::share_process_of(const std::vector<std::string>& names) {
  for (arm& a : arms) a.shares_process = std::find(names.begin(), names.end(), a.name) != names.end();
}

std::string defect_of(const failure_case& c) {
  if (!is_case_name(c.name)) return "its name is not FAMILY.NAME of a-z, 0-9 and '_'";
  for (const auto& id : c.failures) {
    if (id.empty()) return "a field failure it shows has an empty ID";
  }
  std::set<std::string> names;
  for (const auto& a : c.arms) {
    auto defect = defect_of(a);
    if (defect.empty() && !a.counterpart_of.empty()) defect = defect_of_counterpart(c, a);
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
  std::set<std::string> families;
  for (const case_source& source : sources()) families.insert(source.family);
  return cases_with_families(families);
}

const std::vector<failure_case>& cases_with_families(const std::set<std::string>& families) {
  for (case_source& source : sources()) {
    if (source.done || !families.contains(source.family)) continue;
    for (failure_case& c : source.made({})) {
      if (!c.name.starts_with(source.family + "."))
        throw std::logic_error(c.name + " is not of the family " + source.family);
      registry<failure_case>::add("case", std::move(c));
    }
    source.done = true;
  }
  return registry<failure_case>::all();
}

const failure_case* find_case(std::string_view name) {
  static std::list<failure_case> made;  // addresses must stay valid
  if (const failure_case* const there = registry<failure_case>::find(name); there != nullptr) return there;
  for (const failure_case& c : made)
    if (c.name == name) return &c;
  for (const case_source& source : sources())
    if (name.starts_with(source.family + "."))
      for (failure_case& c : source.made(name))
        if (c.name == name) return &made.emplace_back(std::move(c));
  return nullptr;
}

const arm* find_arm(const failure_case& c, std::string_view name) {
  const auto found = std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& a) { return a.name == name; });
  return found == c.arms.end() ? nullptr : &*found;
}

const arm* find_arm(std::string_view case_name, std::string_view name) {
  const failure_case* const c = find_case(case_name);
  return c == nullptr ? nullptr : find_arm(*c, name);
}

register_case::register_case(failure_case c) {
  registry<failure_case>::add("case", std::move(c));
}

register_case::register_case(std::string name, std::string summary, std::vector<std::string> failures,
                             void (*fill)(failure_case&)) {
  failure_case c{.name = std::move(name), .summary = std::move(summary), .failures = std::move(failures)};
  fill(c);
  registry<failure_case>::add("case", std::move(c));
}

register_cases::register_cases(std::string family, maker made) {
  sources().push_back({.family = std::move(family), .made = std::move(made)});
}

}  // namespace cufault
