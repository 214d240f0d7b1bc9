// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Binds the functions of a library for each file that is linked with it (library_thunks.S). The first call from a file finds the definition
// that the loader would have chosen without cufault, and keeps a thunk for it. Files may be linked with different versions of one library.
#include "harness/injector/elf.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>

#include <errno.h>
#include <unistd.h>

namespace cufault::injector {
namespace {

/// The target of calls of one function from one file. library_thunks.S reads its first members. Never freed.
struct binding {
  const char* begin;
  std::size_t size;
  void* target;
  std::atomic<const binding*> next{nullptr};

  [[nodiscard]] bool contains_address(const void* caller) const {
    return static_cast<std::size_t>(static_cast<const char*>(caller) - begin) < size;
  }
};

const binding* known(const std::atomic<const void*>& first, const void* caller) {
  const auto* each = static_cast<const binding*>(first.load(std::memory_order_acquire));
  while (each != nullptr && !each->contains_address(caller))
    each = each->next.load(std::memory_order_acquire);
  return each;
}

/// Appends: other threads may be reading the list.
void append_binding(std::atomic<const void*>& first, binding* made) {
  const locked w;
  if (known(first, made->begin) != nullptr) {
    delete made;
    return;
  }
  if (first == nullptr) {
    first.store(made, std::memory_order_release);
    return;
  }
  const auto* last = static_cast<const binding*>(first.load());
  while (const binding* next = last->next.load()) last = next;
  const_cast<binding*>(last)->next.store(made, std::memory_order_release);
}

}  // namespace
}  // namespace cufault::injector

using namespace cufault::injector;

/// Binds calls of libraries()[library].functions[index] from the file that contains `caller`.
CUFAULT_EXPORTED void* cufault_bind(std::uint32_t library, std::uint32_t index, const void* caller) {
  const auto& of = libraries()[library];
  auto& first = front_of(of)->bindings[index];
  if (const binding* found = known(first, caller)) return found->target;
  const int before = errno;
  read_environment();
  const char* name = of.functions[index].text.data();
  void* real = default_definition(name, caller, &of);
  // A library may lack entries for the libraries it needs. Whoever loads it has then loaded them too, mostly after it.
  if (real == nullptr) real = definition_beside(caller, side::after, name);
  if (real == nullptr) real = definition_beside(front_of(of)->begin, side::after, name);
  if (real == nullptr) {
    // Aborts as the loader does when a symbol is missing.
    say(fmt::format("{}: no library that is loaded defines it, and {} calls it", name, library_at(caller)));
    _exit(127);
  }
  void* target = wrapped_of_library(real, name, caller, of);
  const loaded_range file = file_around(caller);
  if (file.size != 0) append_binding(first, new binding{file.begin, file.size, target});
  errno = before;
  return target;
}
