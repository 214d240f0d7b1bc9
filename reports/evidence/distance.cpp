// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/distance.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace cufault {
namespace {

/// Families of cases whose library under test is a framework: the family has the name of its key.
constexpr std::array<std::string_view, 3> framework_keys{"pytorch", "jax", "cupy"};

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

std::span<const distance_row> distance_table() {
  static constexpr std::array rows{
      distance_row{"compute_capability", version_part::major, 200,
                   "each generation has kernels of its own, and limits of its own"},
      distance_row{"compute_capability", version_part::minor, 100,
                   "one generation shares most kernels; shared memory and the number of SMs differ"},
      distance_row{"cublas", version_part::minor, 10, library_minor},
      distance_row{"cublas", version_part::major, std::nullopt, library_major},
      distance_row{"other_cublas", version_part::minor, 10, library_minor},
      distance_row{"other_cublas", version_part::major, std::nullopt, library_major},
      distance_row{"pytorch", version_part::minor, 10, library_minor},
      distance_row{"pytorch", version_part::major, std::nullopt, library_major},
      distance_row{"jax", version_part::minor, 10, library_minor},
      distance_row{"jax", version_part::major, std::nullopt, library_major},
      distance_row{"cupy", version_part::minor, 10, library_minor},
      distance_row{"cupy", version_part::major, std::nullopt, library_major},
  };
  return rows;
}

std::vector<std::string_view> keys_that_matter(const std::string& case_name, const arm_result& arm) {
  std::vector<std::string_view> keys;
  const bool on_gpu =
      !arm.any_architecture && std::any_of(arm.trials.begin(), arm.trials.end(),
                                           [](const observation& o) { return o.context != "none"; });
  const auto framework =
      std::find_if(framework_keys.begin(), framework_keys.end(), [&](std::string_view name) {
        return case_name.starts_with(name) && case_name.substr(name.size()).starts_with('.');
      });
  if (framework != framework_keys.end()) keys.push_back(*framework);
  if (framework == framework_keys.end() || on_gpu) keys.emplace_back("cublas");
  if (arm.second_cublas) keys.emplace_back("other_cublas");
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
    const auto rows = distance_table();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const distance_row& r) {
      return r.key == key && r.differs == *differs;
    });
    if (row == rows.end() || !row->adds) return std::nullopt;
    sum += *row->adds;
  }
  return sum;
}

}  // namespace cufault
