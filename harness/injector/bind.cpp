// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Binds a call of a library's function from a file that is linked with it (library_thunks.S). At the first call from each file it finds the
// definition that the loader would have chosen without cufault, and keeps a thunk for it: files may be linked with different versions of one library.
#include "harness/injector/elf.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>

#include <errno.h>
#include <unistd.h>

namespace cufault::injector {
namespace {

/// Where calls from one file of one name go. Its beginning is what library_thunks.S reads. Never freed.
struct binding {
  const char* begin;
  std::size_t size;
  void* target;
  std::atomic<const binding*> next{nullptr};

  [[nodiscard]] bool is_for(const void* caller) const {
    return static_cast<std::size_t>(static_cast<const char*>(caller) - begin) < size;
  }
};

const binding* known(const std::atomic<const void*>& first, const void* caller) {
  const auto* each = static_cast<const binding*>(first.load(std::memory_order_acquire));
  while (each != nullptr && !each->is_for(caller)) each = each->next.load(std::memory_order_acquire);
  return each;
}

/// Behind those of other files, which may be in use.
void keep(std::atomic<const void*>& first, binding* made) {
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

/// Of libraries()[library].functions[index], called from there.
CUFAULT_EXPORTED void* cufault_bind(std::uint32_t library, std::uint32_t index, const void* caller) {
  const auto& of = libraries()[library];
  auto& first = front_of(of)->bindings[index];
  if (const binding* found = known(first, caller)) return found->target;
  const int before = errno;
  read_environment();
  const char* name = of.functions[index].text.data();
  void* real = default_definition(name, caller, &of);
  // A library need not say what it needs: what loads it has loaded that, too, and mostly behind it.
  if (real == nullptr) real = definition_beside(caller, side::after, name);
  if (real == nullptr) real = definition_beside(front_of(of)->begin, side::after, name);
  if (real == nullptr) {
    // As the loader would have it without this library.
    say(fmt::format("{}: no library that is loaded defines it, and {} calls it", name, library_at(caller)));
    _exit(127);
  }
  void* target = wrapped_of_library(real, name, caller, of);
  const loaded_range file = file_around(caller);
  if (file.size != 0) keep(first, new binding{file.begin, file.size, target});
  errno = before;
  return target;
}
