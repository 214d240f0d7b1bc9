// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/driver_functions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

namespace cufault::injector {
namespace {

#define CUFAULT_DRIVER_CODE(name, code)
#define CUFAULT_DRIVER_FUNCTION(name, late, codes) driver_function{#name, (late) != 0, codes},
constexpr driver_function functions[]{
#include "driver_functions.inc"
};
#undef CUFAULT_DRIVER_CODE
#undef CUFAULT_DRIVER_FUNCTION

#define CUFAULT_DRIVER_CODE(name, code) {#name, code},
#define CUFAULT_DRIVER_FUNCTION(name, late, codes)
constexpr std::pair<std::string_view, int> codes[]{
#include "driver_functions.inc"
};
#undef CUFAULT_DRIVER_CODE
#undef CUFAULT_DRIVER_FUNCTION

/// What asynchronous work leaves behind for later calls.
constexpr std::array late_codes{214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};

/// Seen, and not in cuda.h: see cases/environment/ for cuInit.
constexpr std::array<std::pair<std::string_view, int>, 6> undocumented{
    {{"cuInit", 3}, {"cuInit", 34}, {"cuInit", 36}, {"cuInit", 100}, {"cuInit", 802}, {"cuInit", 999}}};

constexpr std::string_view code_prefix = "CUDA_ERROR_";

template <int argument>
std::uint64_t size_in(const std::uint64_t* arguments) {
  return arguments[argument];
}
std::uint64_t rows_by_columns(const std::uint64_t* arguments) {
  return arguments[2] * arguments[3];
}

/// By their names without suffix.
constexpr std::array<std::pair<std::string_view, memory_function>, 12> memory_functions{
    {{"cuMemAlloc", {memory_role::allocates, size_in<1>}},
     {"cuMemAllocPitch", {memory_role::allocates, rows_by_columns}},
     {"cuMemAllocManaged", {memory_role::allocates, size_in<1>}},
     {"cuMemAllocAsync", {memory_role::allocates, size_in<1>}},
     {"cuMemAllocFromPoolAsync", {memory_role::allocates, size_in<1>}},
     {"cuMemCreate", {memory_role::allocates, size_in<1>}},
     {"cuMemAllocHost", {memory_role::allocates_host, size_in<1>}},
     {"cuMemHostAlloc", {memory_role::allocates_host, size_in<1>}},
     {"cuMemFree", {memory_role::releases, nullptr}},
     {"cuMemFreeAsync", {memory_role::releases, nullptr}},
     {"cuMemRelease", {memory_role::releases, nullptr}},
     {"cuMemGetInfo", {memory_role::tells, nullptr}}}};

bool lists(std::string_view numbers, int code) {
  while (!numbers.empty()) {
    const auto end = std::min(numbers.find(' '), numbers.size());
    int number = 0;
    std::from_chars(numbers.data(), numbers.data() + end, number);
    if (number == code) return true;
    numbers.remove_prefix(std::min(end + 1, numbers.size()));
  }
  return false;
}

}  // namespace

std::span<const driver_function> driver_functions() {
  return functions;
}

std::string_view without_suffix(std::string_view function) {
  for (const std::string_view stream : {"_ptds", "_ptsz"})
    if (function.ends_with(stream)) function.remove_suffix(stream.size());
  const auto version = function.rfind("_v");
  if (version == std::string_view::npos || version + 2 == function.size()) return function;
  const auto digits = function.substr(version + 2);
  const bool all = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return all ? function.substr(0, version) : function;
}

memory_function memory_function_of(std::string_view function) {
  const auto base = without_suffix(function);
  for (const auto& [name, is] : memory_functions)
    if (name == base) return is;
  return {};
}

std::optional<int> driver_code(std::string_view name) {
  for (const auto& [full, code] : codes)
    if (name == full || (full.starts_with(code_prefix) && name == full.substr(code_prefix.size())))
      return code;
  return std::nullopt;
}

std::string driver_code_name(int code) {
  for (const auto& [name, number] : codes)
    if (number == code) return std::string{name};
  return "CUresult " + std::to_string(code);
}

bool can_return(std::string_view function, int code) {
  const auto base = without_suffix(function);
  for (const auto& [name, number] : undocumented)
    if (base == name && code == number) return true;
  const auto known = std::find_if(std::begin(functions), std::end(functions), [&](const driver_function& f) {
    return f.name == function || without_suffix(f.name) == base;
  });
  if (known == std::end(functions) || *known->codes == '\0') return true;
  if (lists(known->codes, code)) return true;
  return known->may_be_late && std::find(late_codes.begin(), late_codes.end(), code) != late_codes.end();
}

}  // namespace cufault::injector
