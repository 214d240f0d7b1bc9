// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/driver_functions.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace cufault::injector {
namespace {

#define CUFAULT_DRIVER_CODE(name, code, lost)
#define CUFAULT_DRIVER_FUNCTION(name, late, codes) driver_function{function_name{#name}, (late) != 0, codes},
constexpr driver_function functions[]{
#include "driver_functions.inc"
};
#undef CUFAULT_DRIVER_CODE
#undef CUFAULT_DRIVER_FUNCTION

struct named_code {
  std::string_view name;
  int number;
  bool sticky;
};
#define CUFAULT_DRIVER_CODE(name, code, lost) {#name, code, (lost) != 0},
#define CUFAULT_DRIVER_FUNCTION(name, late, codes)
constexpr named_code codes[]{
#include "driver_functions.inc"
};
#undef CUFAULT_DRIVER_CODE
#undef CUFAULT_DRIVER_FUNCTION

/// Codes that asynchronous work leaves for later calls.
constexpr std::array<std::size_t, 15> late_codes{214, 220, 226, 700, 702, 709, 710, 714,
                                                 715, 716, 717, 718, 719, 721, 999};

struct seen_code {
  std::string_view function;
  std::size_t code;
};
#define CUFAULT_SEEN_CODE(function, code, source) {#function, code},
constexpr seen_code seen_codes[]{
#include "harness/injector/seen_codes.inc"
};
#undef CUFAULT_SEEN_CODE

constexpr std::string_view code_prefix = "CUDA_ERROR_";

template <int argument>
std::uint64_t size_in(const std::uint64_t* arguments) {
  return arguments[argument];
}
std::uint64_t rows_by_columns(const std::uint64_t* arguments) {
  return arguments[2] * arguments[3];
}

/// Compares names without suffix; a * at the end of a pattern matches any rest.
template <std::size_t size>
bool is_one_of(const std::array<std::string_view, size>& names, std::string_view base) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name.ends_with('*') ? base.starts_with(name.substr(0, name.size() - 1)) : base == name;
  });
}

/// Work, waits and frees. They have an effect on memory, streams and events alone; their pointers are operands and no outputs.
constexpr std::array<std::string_view, 28> droppable{
    "cuLaunch*",          "cuGraphLaunch",         "cuGraphUpload",       "cuMemcpy*",
    "cuMemset*",          "cuMemPrefetch*",        "cuMemDiscard*",       "cuMemAdvise",
    "cuMemMapArrayAsync", "cuStreamAttachMem*",    "cuStreamWriteValue*", "cuStreamWaitValue*",
    "cuStreamBatchMemOp", "cuStreamAddCallback",   "cuStreamWaitEvent",   "cuStreamSynchronize",
    "cuEventRecord*",     "cuEventSynchronize",    "cuCtxSynchronize",    "cuCtxRecordEvent",
    "cuCtxWaitEvent",     "cuGreenCtxRecordEvent", "cuGreenCtxWaitEvent", "cuMemFree",
    "cuMemFreeAsync",     "cuMemFreeHost",         "cuEventDestroy",      "cuStreamDestroy"};

/// Functions that work without a context or on contexts. Which calls a driver really answers in a lost context is not measured.
constexpr std::array<std::string_view, 14> work_without_context{
    "cuInit",           "cuDriverGetVersion", "cuGet*",          "cuDevice*",
    "cuCtxCreate",      "cuCtxDestroy",       "cuCtxGetCurrent", "cuCtxSetCurrent",
    "cuCtxPushCurrent", "cuCtxPopCurrent",    "cuCtxGetDevice",  "cuLogs*",
    "cuCoredump*",      "cuCheckpoint*"};

/// Functions by name without suffix.
constexpr std::pair<std::string_view, memory_function> memory_functions[]{
    {"cuMemAlloc", {memory_role::allocates, size_in<1>}},
    {"cuMemAllocPitch", {memory_role::allocates, rows_by_columns}},
    {"cuMemAllocManaged", {memory_role::allocates, size_in<1>}},
    {"cuMemAllocAsync", {memory_role::allocates, size_in<1>}},
    {"cuMemAllocFromPoolAsync", {memory_role::allocates, size_in<1>}},
    {"cuMemCreate", {memory_role::creates_handle, size_in<1>}},
    {"cuMemAllocHost", {memory_role::allocates_host, size_in<1>}},
    {"cuMemHostAlloc", {memory_role::allocates_host, size_in<1>}},
    {"cuMemGetInfo", {memory_role::tells}},
    {"cuMemFree", {memory_role::frees}},
    {"cuMemFreeAsync", {memory_role::frees}},
    {"cuMemRelease", {memory_role::releases_handle}},
    {"cuMemRetainAllocationHandle", {memory_role::retains_handle}},
    {"cuMemMap", {memory_role::maps}},
    {"cuMemUnmap", {memory_role::unmaps}},
    {"cuCtxDestroy", {memory_role::destroys_context}},
    {"cuDevicePrimaryCtxRetain", {memory_role::retains_primary}},
    {"cuDevicePrimaryCtxRelease", {memory_role::releases_primary}},
    {"cuDevicePrimaryCtxReset", {memory_role::resets_primary}}};

using code_set = std::bitset<1024>;

/// Codes that functions can return, by name without suffix; undocumented functions are missing. Parsed once, because each new rule is
/// compared with hundreds of functions.
const std::unordered_map<std::string_view, code_set>& documented_codes() {
  static const auto* const all = [] {
    auto* found = new std::unordered_map<std::string_view, code_set>;
    // The documentation describes all functions of a base name in one place.
    for (const driver_function& f : functions) {
      std::string_view numbers = f.codes;
      if (numbers.empty()) continue;
      const auto [entry, is_new] = found->try_emplace(f.name.base());
      if (!is_new) continue;
      while (!numbers.empty()) {
        const auto end = std::min(numbers.find(' '), numbers.size());
        std::size_t number = 0;
        std::from_chars(numbers.data(), numbers.data() + end, number);
        entry->second.set(number);
        numbers.remove_prefix(std::min(end + 1, numbers.size()));
      }
      if (f.may_be_late)
        for (const std::size_t code : late_codes) entry->second.set(code);
    }
    for (const seen_code& s : seen_codes)
      if (const auto entry = found->find(s.function); entry != found->end()) entry->second.set(s.code);
    return found;
  }();
  return *all;
}

}  // namespace

std::span<const driver_function> driver_functions() {
  return functions;
}

memory_function memory_function_of(std::string_view function) {
  const auto base = without_suffix(function);
  for (const auto& [name, is] : memory_functions)
    if (name == base) return is;
  return {};
}

std::optional<int> driver_code(std::string_view name) {
  for (const auto& [full, code, sticky] : codes)
    if (name == full || (full.starts_with(code_prefix) && name == full.substr(code_prefix.size())))
      return code;
  return std::nullopt;
}

std::string_view known_code_name(int code) {
  for (const named_code& each : codes)
    if (each.number == code) return each.name;
  return {};
}

std::string driver_code_name(int code) {
  const std::string_view name = known_code_name(code);
  return name.empty() ? "CUresult " + std::to_string(code) : std::string{name};
}

bool is_sticky(int code) {
  return std::any_of(std::begin(codes), std::end(codes),
                     [&](const named_code& each) { return each.number == code && each.sticky; });
}

bool can_be_dropped(const function_name& function) {
  return is_one_of(droppable, function.base());
}

bool needs_a_sound_context(const function_name& function) {
  return !is_one_of(work_without_context, function.base());
}

bool can_return(const function_name& function, int code) {
  const auto known = documented_codes().find(function.base());
  if (known == documented_codes().end()) return true;
  return code >= 0 && static_cast<std::size_t>(code) < known->second.size() &&
         known->second[static_cast<std::size_t>(code)];
}

}  // namespace cufault::injector
