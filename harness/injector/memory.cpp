// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Budgets: how much device memory the calls of a rule may hold. Memory of cuMemCreate counts until its handle has no reference and no
// mapping. Other memory counts until it is freed or its context ends (CUDA Driver API: cuMemRelease, cuCtxDestroy,
// cuDevicePrimaryCtxReset). Addresses and handles are handled as integers.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/calls.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cufault/cufault_injector.h"

namespace cufault::injector {
namespace {

struct budget {
  active_rule* rule;
  std::uint64_t taken;

  [[nodiscard]] std::uint64_t left() const { return rule->what.budget - std::min(rule->what.budget, taken); }
};

struct allocation {
  call_facts call;
  driver_context of;  ///< that it goes with, unless it is a handle of cuMemCreate, which goes with none
  // Of a cuMemCreate handle: the allocation ends when both counts are 0.
  std::uint64_t references = 0;
  std::uint64_t mappings = 0;
};

struct mapping {
  std::uint64_t size;
  std::uint64_t number;  ///< of the allocation
};

using numbers = std::unordered_map<std::uint64_t, std::uint64_t>;

/// One ledger for the process: memory outlives the rules under which it was allocated.
struct ledger {
  std::mutex mutex;
  std::vector<budget> budgets;
  std::map<std::uint64_t, allocation> allocations;  ///< by number: those still held, and those being made
  std::uint64_t next_number = 1;
  numbers number_at;                        ///< by address
  numbers number_of;                        ///< by handle
  std::map<std::uint64_t, mapping> mapped;  ///< by address
  std::uint64_t taken = 0;

  /// Visits the budgets that hold for a call.
  void each_of(const call_facts& call, const auto& visit) {
    for (budget& b : budgets)
      if (holds_for(b.rule->what, call)) visit(b);
  }
  void forget(std::uint64_t number) {
    const auto found = allocations.find(number);
    const call_facts& call = found->second.call;
    taken -= *call.bytes;
    each_of(call, [&](budget& b) { b.taken -= *call.bytes; });
    allocations.erase(found);
  }
  void forget_where(const auto& holds) {
    std::erase_if(number_at, [&](const auto& each) {
      const bool gone = holds(allocations.at(each.second));
      if (gone) forget(each.second);
      return gone;
    });
  }
  void forget_if_nobody_has(std::uint64_t number) {
    const auto found = allocations.find(number);
    if (found != allocations.end() && found->second.references == 0 && found->second.mappings == 0)
      forget(number);
  }
  /// Records that allocation `number` begins at `place`.
  void record_beginning(numbers& where, std::uint64_t place, std::uint64_t number) {
    const auto [at, is_new] = where.try_emplace(place, number);
    if (is_new) return;
    // The end of the previous allocation at this place was not seen.
    if (const auto before = allocations.find(at->second); before != allocations.end()) {
      before->second.references = 0;
      forget_if_nobody_has(at->second);
    }
    at->second = number;
  }
  /// Number of the allocation mapped at the address; 0 if there is none.
  [[nodiscard]] std::uint64_t mapped_at(std::uint64_t address) const {
    auto after = mapped.upper_bound(address);
    if (after == mapped.begin()) return 0;
    --after;
    return address < after->first + after->second.size ? after->second.number : 0;
  }
};
ledger& the_ledger() {
  static auto* one = new ledger;
  return *one;
}
constinit std::atomic<bool> used{false};

/// Locks the ledger and exempts this thread from rules.
class locked_ledger {
 public:
  ledger* operator->() { return &the_ledger(); }

 private:
  exempt_from_rules alone_;
  std::lock_guard<std::mutex> lock_{the_ledger().mutex};
};

}  // namespace

void set_budgets(const std::vector<active_rule*>& budgets) {
  if (budgets.empty() && !used) return;
  used = true;
  locked_ledger l;
  l->budgets.clear();
  for (active_rule* r : budgets) l->budgets.push_back({r, 0});
  for (const auto& [number, each] : l->allocations)
    l->each_of(each.call, [&, bytes = *each.call.bytes](budget& b) { b.taken += bytes; });
}

bool budgets_in_use() {
  return used;
}

budget_claim claim_of(const call_facts& call, memory_role how) {
  const driver_context of = how == memory_role::allocates ? current_context() : driver_context{};
  locked_ledger l;
  budget_claim claim;
  bool some = false;
  l->each_of(call, [&](budget& b) {
    some = true;
    ++b.rule->held;
    if (*call.bytes > b.left() && claim.refused_by == nullptr) claim.refused_by = b.rule;
  });
  if (!some || claim.refused_by != nullptr) return claim;
  claim.number = l->next_number++;
  l->allocations.emplace(claim.number, allocation{call, of});
  l->taken += *call.bytes;
  l->each_of(call, [&](budget& b) { b.taken += *call.bytes; });
  return claim;
}

void complete_claim(std::uint64_t number, memory_role how, bool succeeded, const std::uint64_t* arguments) {
  locked_ledger l;
  if (!succeeded) return l->forget(number);
  const std::uint64_t place = *reinterpret_cast<const std::uint64_t*>(arguments[0]);
  if (how == memory_role::creates_handle) l->allocations.at(number).references = 1;
  l->record_beginning(how == memory_role::creates_handle ? l->number_of : l->number_at, place, number);
}

std::uint64_t budgeted_allocation_at(memory_role how, const std::uint64_t* arguments) {
  if (how != memory_role::frees && how != memory_role::releases_handle) return 0;
  locked_ledger l;
  const numbers& all = how == memory_role::frees ? l->number_at : l->number_of;
  const auto found = all.find(arguments[0]);
  return found != all.end() ? found->second : 0;
}

void account_for_released_memory(memory_role how, const std::uint64_t* arguments, std::uint64_t number) {
  const bool ends_primary = ends_primary_context(how, static_cast<int>(arguments[0]));
  locked_ledger l;
  switch (how) {
    case memory_role::frees:  // cuMemFree(address)
      if (const auto at = l->number_at.find(arguments[0]); at != l->number_at.end() && at->second == number) {
        l->forget(number);
        l->number_at.erase(at);
      }
      break;
    case memory_role::releases_handle:  // cuMemRelease(handle)
      if (const auto of = l->number_of.find(arguments[0]); of != l->number_of.end() && of->second == number) {
        auto& references = l->allocations.at(number).references;
        if (references != 0 && --references != 0) break;
        l->number_of.erase(of);
        l->forget_if_nobody_has(number);
      }
      break;
    case memory_role::retains_handle: {  // cuMemRetainAllocationHandle(&handle, address)
      const std::uint64_t handle = *reinterpret_cast<const std::uint64_t*>(arguments[0]);
      if (const auto mapped = l->mapped_at(arguments[1]); mapped != 0) {
        l->number_of[handle] = mapped;
        ++l->allocations.at(mapped).references;
      }
      break;
    }
    case memory_role::maps:  // cuMemMap(address, size, offset, handle, flags)
      if (const auto of = l->number_of.find(arguments[3]); of != l->number_of.end()) {
        l->mapped[arguments[0]] = {arguments[1], of->second};
        ++l->allocations.at(of->second).mappings;
      }
      break;
    case memory_role::unmaps:  // cuMemUnmap(address, size)
      std::erase_if(l->mapped, [&](const auto& each) {
        if (each.first < arguments[0] || each.first >= arguments[0] + arguments[1]) return false;
        --l->allocations.at(each.second.number).mappings;
        l->forget_if_nobody_has(each.second.number);
        return true;
      });
      break;
    case memory_role::destroys_context: {  // cuCtxDestroy(context)
      const auto* context = reinterpret_cast<const void*>(arguments[0]);
      l->forget_where([&](const allocation& a) { return a.of.handle == context; });
      break;
    }
    case memory_role::releases_primary:
    case memory_role::resets_primary:  // both take the device
      if (ends_primary)
        l->forget_where(
            [&](const allocation& a) { return a.of.primary_of == static_cast<int>(arguments[0]); });
      break;
    default:
      break;
  }
}

std::uint64_t budget_left(const call_facts& asker, std::uint64_t really_free) {
  locked_ledger l;
  std::uint64_t left = really_free;
  l->each_of(asker, [&](const budget& b) { left = std::min(left, b.left()); });
  return left;
}

void hold_budgets_for_fork() {
  the_ledger().mutex.lock();
}
void go_on_with_budgets() {
  the_ledger().mutex.unlock();
}

}  // namespace cufault::injector

CUFAULT_EXPORTED unsigned long long cufault_bytes_held() {
  using namespace cufault::injector;
  locked_ledger l;
  return l->taken;
}
// NOLINTEND(performance-no-int-to-ptr)
