// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/comparison.hpp"

#include "reports/judge/judge.hpp"
#include "reports/judge/library_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace cufault {
namespace {

std::string why_not_observed(const arm_result& arm) {
  if (arm.trials.empty()) return "no trial was recorded";
  for (const auto& o : arm.trials)
    if (!comparable(o)) return fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o));
  return {};
}

bool nothing_is_proved(const arm_result& arm) {
  return arm.trials.empty() || std::any_of(arm.trials.begin(), arm.trials.end(), [](const observation& o) {
           return !comparable(o) && o.ended != outcome::not_provoked;
         });
}

change change_of(verdict v) {
  switch (v) {
    case verdict::changed:
      return change::changed;
    case verdict::gone:
      return change::gone;
    case verdict::worsened:
      return change::worsened;
    case verdict::remedy_broken:
      return change::remedy_broken;
    case verdict::unresolved:
      return change::unresolved;
    case verdict::not_provoked:
      return change::absent;
    default:
      return change::unchanged;
  }
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whether a value of a stack is what a key says: "cublas/version" of cublas, "gpu/compute_capability", "environment/CUDA_MODULE_LOADING".
bool says_a_key(const std::string& path, const std::map<std::string, stack_difference>& keys) {
  if (path == "environment/CUDA_MODULE_LOADING") return keys.contains("module_loading");
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return keys.contains(path);
  const std::string last = path.substr(slash + 1);
  return keys.contains(last == "version" ? path.substr(0, slash) : last);
}

/// Each value of a stack by its path, without the leading slash.
std::map<std::string, std::string> values_of(const nlohmann::json& stack) {
  std::map<std::string, std::string> values;
  if (!stack.is_object() || stack.empty()) return values;
  const nlohmann::json flat = stack.flatten();
  for (const auto& [path, value] : flat.items()) values[path.substr(1)] = text_of(value);
  return values;
}

}  // namespace

std::span<const enum_name<change>> names_of(change /*any*/) {
  static constexpr std::array names{enum_name<change>{change::unchanged, "unchanged"},
                                    enum_name<change>{change::changed, "changed"},
                                    enum_name<change>{change::gone, "gone"},
                                    enum_name<change>{change::worsened, "worsened"},
                                    enum_name<change>{change::remedy_broken, "remedy_broken"},
                                    enum_name<change>{change::absent, "absent"},
                                    enum_name<change>{change::added, "new"},
                                    enum_name<change>{change::unresolved, "unresolved"},
                                    enum_name<change>{change::unobserved, "unobserved"}};
  return names;
}
std::string to_string(change c) {
  return name_of(c);
}

arm_change compare_arms(const arm_result* before, const arm_result* after) {
  const bool was = before != nullptr && observed(*before), is = after != nullptr && observed(*after);
  if (!was && !is) return {change::unobserved};
  if (!was) return {change::added, before == nullptr ? not_in_baseline : why_not_observed(*before)};
  if (after == nullptr) return {change::absent, not_in_candidate};
  const bool races = !before->races.empty() || !after->races.empty();
  arm_result judged = *after;
  if (is && judged.kind == arm_kind::control)
    judged.kind = arm_kind::fault;  // who judges the case judges controls
  const expectation expected = expectation_of(*before, races);
  judge_by(judged, &expected);
  arm_change found{change_of(judged.judged), judged.why};
  if (is && found.what == change::absent)
    found.what = change::unchanged;  // nothing to clear, before and after
  if (!is && nothing_is_proved(*after)) found.what = change::unresolved;
  if (found.what == change::unchanged) found.why.clear();
  return found;
}

std::vector<joined_arm> join(std::span<const record> records) {
  std::map<std::string, joined_arm> by_key;
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const auto& c : records[i].cases)
      for (const auto& arm : c.arms) {
        auto& joined = by_key[join_key(c.name, arm.name)];
        if (joined.each.empty())
          joined = {c.name, arm.name, std::vector<const arm_result*>(records.size(), nullptr)};
        joined.each[i] = &arm;
      }
  std::vector<joined_arm> all;
  for (auto& [key, joined] : by_key) all.push_back(std::move(joined));
  return all;
}

std::vector<stack_difference> stack_differences(const record& before, const record& after) {
  const auto was = values_of(before.stack), is = values_of(after.stack);
  std::map<std::string, stack_difference> packages, keys, rest;
  constexpr std::string_view of_keys = "keys/", of_packages = "python/packages/";
  const auto note = [&](const std::string& path, const std::string& then, const std::string& now) {
    if (then == now || path.starts_with("files/")) return;
    const bool key = path.starts_with(of_keys), package = path.starts_with(of_packages);
    const auto name = key ? path.substr(of_keys.size()) : package ? path.substr(of_packages.size()) : path;
    (key ? keys : package ? packages : rest)[name] = {name, then, now};
  };
  for (const auto& [path, value] : was) note(path, value, is.contains(path) ? is.at(path) : "");
  for (const auto& [path, value] : is)
    if (!was.contains(path)) note(path, "", value);
  std::vector<stack_difference> all = file_differences(before.stack, after.stack);
  for (auto* each : {&packages, &keys, &rest})
    for (auto& [name, difference] : *each)
      if (each != &rest || !says_a_key(name, keys)) all.push_back(std::move(difference));
  return all;
}

}  // namespace cufault
