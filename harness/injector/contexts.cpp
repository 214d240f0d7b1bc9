// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Contexts, and the sticky errors that rules leave in them. Handles are handled as integers.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/slots.hpp"

#include <algorithm>

namespace cufault::injector {
namespace {

constinit std::atomic<bool> errors_exist{false};

/// Returns nullopt if the driver does not tell.
std::optional<bool> primary_context_is_active(int device) {
  auto* state = driver_entry<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 0;
  if (state == nullptr || state(device, &flags, &active) != 0) return std::nullopt;
  return active != 0;
}

/// Compares the context with the one that the driver returns for each device: the handle alone does not tell that it is primary.
std::optional<int> device_of_primary(const void* context) {
  auto* retain = driver_entry<int(const void**, int)>("cuDevicePrimaryCtxRetain");
  auto* release = driver_entry<int(int)>("cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease");
  const auto device = current_device();
  const void* primary = nullptr;
  if (!device || retain == nullptr || release == nullptr || primary_context_is_active(*device) != true ||
      retain(&primary, *device) != 0)
    return std::nullopt;
  release(*device);
  return primary == context ? device : std::nullopt;
}

}  // namespace

std::optional<int> current_device() {
  static constinit std::atomic<void*> function{nullptr};
  if (function == nullptr) function = driver_function_at("cuCtxGetDevice");
  int device = 0;
  auto* ask = reinterpret_cast<int (*)(int*)>(function.load());
  if (ask == nullptr || ask(&device) != 0) return std::nullopt;
  return device;
}

bool ends_primary_context(memory_role how, int device) {
  return how == memory_role::resets_primary ||
         (how == memory_role::releases_primary && primary_context_is_active(device) == false);
}

driver_context current_context() {
  static constinit std::atomic<void*> function{nullptr};
  if (function == nullptr) function = driver_function_at("cuCtxGetCurrent");
  auto* ask = reinterpret_cast<int (*)(const void**)>(function.load());
  driver_context here;
  if (ask == nullptr || ask(&here.handle) != 0 || here.handle == nullptr) return {};
  {
    locked w;
    if (const auto known = w->primary_of.find(here.handle); known != w->primary_of.end()) {
      here.primary_of = known->second;
      return here;
    }
  }
  here.primary_of = device_of_primary(here.handle);
  locked w;
  w->primary_of.emplace(here.handle, here.primary_of);
  return here;
}

void context_may_have_changed(memory_role how, const std::uint64_t* arguments) {
  if (how == memory_role::destroys_context) {
    const auto* context = reinterpret_cast<const void*>(arguments[0]);
    locked w;
    w->primary_of.erase(context);
    w->lost_contexts.erase(context);
  } else if (how == memory_role::retains_primary) {
    const auto* primary = *reinterpret_cast<const void* const*>(arguments[0]);
    locked w;
    w->primary_of.insert_or_assign(primary, static_cast<int>(arguments[1]));
  } else if (const int device = static_cast<int>(arguments[0]); ends_primary_context(how, device)) {
    locked w;
    if (w->lost_primaries.contains(device)) return;  // handles that were made in it stay known
    std::erase_if(w->primary_of, [&](const auto& each) { return each.second == device; });
  }
}

const void* lose_current_context(const active_rule& r, std::uint64_t ordinal) {
  const driver_context here = current_context();
  if (here.handle == nullptr) return nullptr;
  locked w;
  const auto& now = current_rules()->all;
  if (std::none_of(now.begin(), now.end(), [&](const auto& each) { return each.get() == &r; }))
    return nullptr;  // another thread has replaced it
  if (here.primary_of)
    w->lost_primaries.try_emplace(*here.primary_of, sticky_error{&r, ordinal});
  else
    w->lost_contexts.try_emplace(here.handle, sticky_error{&r, ordinal});
  if (!errors_exist.exchange(true)) arm_all_slots();
  return here.handle;
}

bool sticky_errors_exist() {
  return errors_exist;
}

std::optional<sticky_error> sticky_error_here(const void*& context) {
  const driver_context here = current_context();
  context = here.handle;
  locked w;
  if (here.primary_of) {
    const auto found = w->lost_primaries.find(*here.primary_of);
    if (found != w->lost_primaries.end()) return found->second;
  } else if (const auto found = w->lost_contexts.find(here.handle); found != w->lost_contexts.end()) {
    return found->second;
  }
  return std::nullopt;
}

void keep_sticky_errors_of(state& w, const std::map<const active_rule*, const active_rule*>& successors) {
  const auto keep = [&](auto& errors) {
    std::erase_if(errors, [&](const auto& each) { return !successors.contains(each.second.rule); });
    for (auto& [of, error] : errors) error.rule = successors.at(error.rule);
  };
  keep(w.lost_contexts);
  keep(w.lost_primaries);
  errors_exist = !w.lost_contexts.empty() || !w.lost_primaries.empty();
}

}  // namespace cufault::injector
// NOLINTEND(performance-no-int-to-ptr)
