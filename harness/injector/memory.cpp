// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/calls.hpp"
#include "harness/injector/cufault_injector.h"
#include "harness/injector/driver_functions.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

namespace cufault::injector {
namespace {

template <int argument>
std::uint64_t size_in(const std::uint64_t* arguments) {
  return arguments[argument];
}
std::uint64_t rows_by_columns(const std::uint64_t* arguments) {
  return arguments[2] * arguments[3];
}

struct named {
  std::string_view name;
  memory_function is;
};
/// By their names without suffix.
constexpr std::array functions{
    named{"cuMemAlloc", {memory_role::allocates, size_in<1>}},
    named{"cuMemAllocPitch", {memory_role::allocates, rows_by_columns}},
    named{"cuMemAllocManaged", {memory_role::allocates, size_in<1>}},
    named{"cuMemAllocAsync", {memory_role::allocates, size_in<1>}},
    named{"cuMemAllocFromPoolAsync", {memory_role::allocates, size_in<1>}},
    named{"cuMemCreate", {memory_role::allocates, size_in<1>}},
    named{"cuMemAllocHost", {memory_role::allocates_host, size_in<1>}},
    named{"cuMemHostAlloc", {memory_role::allocates_host, size_in<1>}},
    named{"cuMemFree", {memory_role::releases, nullptr}},
    named{"cuMemFreeAsync", {memory_role::releases, nullptr}},
    named{"cuMemRelease", {memory_role::releases, nullptr}},
    named{"cuMemGetInfo", {memory_role::tells, nullptr}},
};

/// What budgets let through, while it lasts. One for the process: budgets follow each other, and memory outlives them.
struct ledger {
  std::mutex mutex;
  std::uint64_t taken = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> bytes_at;
};
ledger& the_ledger() {
  static auto* one = new ledger;
  return *one;
}

}  // namespace

memory_function memory_function_of(std::string_view function) {
  const auto base = without_suffix(function);
  const auto* const found =
      std::find_if(functions.begin(), functions.end(), [&](const named& f) { return f.name == base; });
  return found != functions.end() ? found->is : memory_function{};
}

budget_claim::budget_claim(const active_rule& r, std::uint64_t bytes) : bytes_(bytes) {
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  granted_ = l.taken <= r.what.budget && bytes <= r.what.budget - l.taken;
  if (granted_) l.taken += bytes;
}

void budget_claim::succeeded(std::uint64_t address) const {
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  l.bytes_at[address] = bytes_;
}

void budget_claim::failed() const {
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  l.taken -= bytes_;
}

void budget_release(std::uint64_t address) {
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  const auto found = l.bytes_at.find(address);
  if (found == l.bytes_at.end()) return;
  l.taken -= found->second;
  l.bytes_at.erase(found);
}

std::uint64_t budget_left(const active_rule& r, std::uint64_t really_free) {
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  return std::min(really_free, r.what.budget - std::min(r.what.budget, l.taken));
}

}  // namespace cufault::injector

CUFAULT_EXPORTED unsigned long long cufault_bytes_held() {
  using namespace cufault::injector;
  const left_alone alone;
  ledger& l = the_ledger();
  const std::lock_guard lock(l.mutex);
  return l.taken;
}
