// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/distance.hpp"

#include "reports/model/api_functions.hpp"
#include "reports/model/frameworks.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace cufault {
namespace {

constexpr std::string_view library_minor =
    "which kernels a call launches, and what a handle allocates, changes between minor versions";
constexpr std::string_view library_major = "interfaces and statuses change between major versions";

std::uint64_t part_of(const version& v, std::size_t part) {
  return part < v.size() ? v[part] : 0;
}

/// Empty where the versions are equal up to their minor version.
std::optional<version_part> first_difference(std::string_view a, std::string_view b) {
  const version left = version_from(a), right = version_from(b);
  if (left.empty() || right.empty()) return a == b ? std::nullopt : std::optional(version_part::major);
  if (part_of(left, 0) != part_of(right, 0)) return version_part::major;
  if (part_of(left, 1) != part_of(right, 1)) return version_part::minor;
  return std::nullopt;
}

bool calls(const arm_result& arm, std::string_view prefix) {
  return std::ranges::any_of(arm.trials, [&](const observation& o) {
    return std::ranges::any_of(
        o.calls, [&](const call_record& call) { return call.what.name.api.starts_with(prefix); });
  });
}

}  // namespace

version version_from(std::string_view text) {
  version parts;
  while (true) {
    std::uint64_t part = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, part);
    if (error != std::errc{}) return {};
    parts.push_back(part);
    if (stop == end) break;
    if (*stop != '.') return {};
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  }
  while (parts.size() > 1 && parts.back() == 0) parts.pop_back();
  return parts;
}

const std::vector<distance_row>& distance_table() {
  static const auto rows = [] {
    std::vector<distance_row> all{
        {"compute_capability", version_part::major, 200,
         "each generation has kernels of its own, and limits of its own"},
        {"compute_capability", version_part::minor, 100,
         "one generation shares most kernels; shared memory and the number of SMs differ"}};
    std::vector<std::string_view> keys{"cublas", "other_cublas"};
    for (const step_library& each : step_libraries)
      if (each.binding == library_binding::own) keys.push_back(each.key);
    for (const python_framework& f : python_frameworks) keys.push_back(f.name);
    for (const std::string_view key : keys) {
      all.push_back({key, version_part::minor, 10, library_minor});
      all.push_back({key, version_part::major, std::nullopt, library_major});
    }
    return all;
  }();
  return rows;
}

std::vector<std::string_view> keys_that_matter(const std::string& case_name, const arm_result& arm) {
  std::vector<std::string_view> keys;
  const bool on_gpu = !arm.any_architecture && std::ranges::any_of(arm.trials, [](const observation& o) {
    return o.context != "none";
  });
  const python_framework* const its = framework_of_case(case_name);
  if (its != nullptr) keys.push_back(its->name);
  if (its == nullptr || on_gpu) keys.emplace_back("cublas");
  if (arm.second_cublas) keys.emplace_back("other_cublas");
  for (const step_library& each : step_libraries)
    if (each.binding == library_binding::own && calls(arm, each.prefix)) keys.push_back(each.key);
  if (on_gpu) keys.emplace_back("compute_capability");
  return keys;
}

std::optional<int> distance(const stack_keys& recorded, const stack_keys& here,
                            std::span<const std::string_view> keys) {
  int sum = 0;
  for (const std::string_view key : keys) {
    const auto now = here.find(std::string(key)), then = recorded.find(std::string(key));
    if (now == here.end()) continue;
    if (then == recorded.end()) return std::nullopt;
    const auto differs = first_difference(then->second, now->second);
    if (!differs) continue;
    const auto& rows = distance_table();
    const auto row = std::ranges::find_if(
        rows, [&](const distance_row& r) { return r.key == key && r.differs == *differs; });
    if (row == rows.end() || !row->adds) return std::nullopt;
    sum += *row->adds;
  }
  return sum;
}

}  // namespace cufault
