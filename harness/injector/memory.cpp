// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Budgets: how much device memory calls may hold that a rule holds for.
#include "harness/injector/calls.hpp"
#include "harness/injector/cufault_injector.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

namespace cufault::injector {
namespace {

struct budget {
  active_rule* rule;
  std::uint64_t taken;

  [[nodiscard]] std::uint64_t left() const { return rule->what.budget - std::min(rule->what.budget, taken); }
};

/// One for the process: memory outlives the rules under which it was taken.
struct ledger {
  std::mutex mutex;
  std::vector<budget> budgets;
  std::map<std::uint64_t, call_facts> allocations;  ///< those still held, and those being made
  std::uint64_t next_number = 1;
  std::unordered_map<std::uint64_t, std::uint64_t> number_at;  ///< by address
  std::uint64_t taken = 0;

  /// Those that hold for a call.
  void each_of(const call_facts& call, const auto& visit) {
    for (budget& b : budgets)
      if (holds_for(b.rule->what, call)) visit(b);
  }
  void forget(std::uint64_t number) {
    const auto found = allocations.find(number);
    taken -= *found->second.bytes;
    each_of(found->second, [&](budget& b) { b.taken -= *found->second.bytes; });
    allocations.erase(found);
  }
};
ledger& the_ledger() {
  static auto* one = new ledger;
  return *one;
}
constinit std::atomic<bool> used{false};

/// The ledger's mutex, and this thread left alone.
class opened {
 public:
  ledger* operator->() { return &the_ledger(); }

 private:
  left_alone alone_;
  std::lock_guard<std::mutex> lock_{the_ledger().mutex};
};

}  // namespace

void set_budgets(const std::vector<active_rule*>& budgets) {
  if (budgets.empty() && !used) return;
  used = true;
  opened l;
  l->budgets.clear();
  for (active_rule* r : budgets) l->budgets.push_back({r, 0});
  for (const auto& [number, call] : l->allocations)
    l->each_of(call, [&, bytes = *call.bytes](budget& b) { b.taken += bytes; });
}

bool budgets_in_use() {
  return used;
}

budget_claim::budget_claim(const call_facts& call) {
  opened l;
  bool some = false;
  l->each_of(call, [&](budget& b) {
    some = true;
    if (*call.bytes > b.left() && refused_by_ == nullptr) refused_by_ = b.rule;
  });
  if (!some || refused_by_ != nullptr) return;
  number_ = l->next_number++;
  l->allocations.emplace(number_, call);
  l->taken += *call.bytes;
  l->each_of(call, [&](budget& b) { b.taken += *call.bytes; });
}

void budget_claim::succeeded(std::uint64_t address) const {
  if (number_ == 0) return;
  opened l;
  const auto [at, is_new] = l->number_at.try_emplace(address, number_);
  if (is_new) return;
  l->forget(at->second);  // its release was not seen: its context was destroyed, say
  at->second = number_;
}

void budget_claim::failed() const {
  if (number_ == 0) return;
  opened l;
  l->forget(number_);
}

std::uint64_t budgeted_at(std::uint64_t address) {
  opened l;
  const auto found = l->number_at.find(address);
  return found != l->number_at.end() ? found->second : 0;
}

void budget_release(std::uint64_t address, std::uint64_t number) {
  opened l;
  const auto found = l->number_at.find(address);
  if (found == l->number_at.end() || found->second != number) return;
  l->forget(number);
  l->number_at.erase(found);
}

std::uint64_t budget_left(const call_facts& asker, std::uint64_t really_free) {
  opened l;
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
  opened l;
  return l->taken;
}
