// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Rules for host functions, called by libcufault_host.so. Runs inside malloc.
#include "harness/injector/calls.hpp"
#include "harness/injector/elf.hpp"
#include "harness/injector/host.hpp"
#include "harness/injector/slots.hpp"

#include <stdlib.h>

#include <new>

// The names under which the C library offers its own functions to interposing libraries.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* memory);
// Address of this library, defined by the linker.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

// This library allocates by the C library: the program's allocator may call mmap while it holds its own lock.
void* operator new(std::size_t size) {
  void* memory = __libc_malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  __libc_free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  __libc_free(memory);
}

__attribute__((visibility("default"))) constinit std::atomic<std::uint8_t> cufault_host_wanted{0};

namespace cufault::injector {
namespace {

constexpr const char* in_host_library = "cufault_host_look_ups";

}  // namespace

bool host_library_is_loaded() {
  return next_definition(in_host_library) != nullptr ||
         definition_beside(&cufault_host_wanted, side::before, in_host_library) != nullptr;
}

void want_host_calls(const active_rules& rules) {
  cufault_host_wanted = static_cast<std::uint8_t>((rules.host.empty() ? 0 : cufault_wants_calls) |
                                                  (rules.log_environment ? cufault_wants_environment : 0));
}

}  // namespace cufault::injector

using namespace cufault::injector;

/// The first rule that acts decides.
CUFAULT_EXPORTED bool cufault_host_rule_fails(const char* function, const void* caller, std::uint64_t bytes) {
  const bool own = caller >= &__ehdr_start && caller < &_end;
  if (own || exempt_from_rules::now()) return false;
  const exempt_from_rules alone;
  const reading_rules reading;
  const active_rules* rules = current_rules();
  if (rules == nullptr) return false;
  call_facts call{.function = function, .caller = "", .thread = this_thread_number()};
  call.bytes = bytes;
  call.address = caller;
  for (active_rule* r : rules->host) {
    if (r->what.function != function) continue;
    if (!r->what.caller.empty()) call.caller = library_at(caller);
    if (!holds_for(r->what, call)) continue;
    const auto n = ++r->held;
    if (!acts_now(*r, n)) continue;
    if (call.caller.empty()) call.caller = library_at(caller);
    count_injection(*r);
    report_injection(*r, call, n);
    return true;
  }
  return false;
}

CUFAULT_EXPORTED void cufault_host_asks(const void* caller, const char* variable) {
  if (exempt_from_rules::now()) return;
  const exempt_from_rules alone;
  report_environment_look_up(library_at(caller), variable);
}
