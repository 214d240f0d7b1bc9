// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault_host.so interposes the C library's allocations, mmap and getenv. It is preloaded only for rules that name them, a trace or a
// case; without such a rule a call costs two tests of flags. Its functions run before main, before constructors, inside malloc and beside
// other threads. So nothing here allocates, locks or throws, unless a rule acts, in libcufault.so. free() needs no stand-in: allocations go
// to the definition that the program would have had, which also frees the memory.
#include "harness/injector/host.hpp"

#include "harness/injector/elf.hpp"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#define CUFAULT_EXPORTED extern "C" __attribute__((visibility("default")))
#define CUFAULT_CALLER __builtin_return_address(0)

// The names under which the C library offers its own functions to interposing libraries.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// Address of this library, defined by the linker.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

// ---- getenv ----

struct look_up {
  std::atomic<bool> complete;
  const void* caller;
  std::array<char, 64> variable;
};
constinit std::array<look_up, 4096> look_ups{};
constinit std::atomic<std::size_t> look_ups_begun{0};
/// Hash table of indexes into `look_ups`, plus 1; at most half full.
constinit std::array<std::atomic<std::uint16_t>, 2 * look_ups.size()> known_look_ups{};

bool is(const look_up& known, const void* caller, const char* variable) {
  return known.complete.load(std::memory_order_acquire) && known.caller == caller &&
         strncmp(known.variable.data(), variable, known.variable.size() - 1) == 0;
}

void remember(const void* caller, const char* variable) {
  auto place = reinterpret_cast<std::uintptr_t>(caller);
  for (const char* c = variable; *c != '\0'; ++c) place = place * 31 + static_cast<unsigned char>(*c);
  std::uint16_t known = 0;
  while ((known = known_look_ups[place %= known_look_ups.size()]) != 0) {
    if (is(look_ups[known - 1u], caller, variable)) return;
    ++place;
  }
  if (look_ups_begun > look_ups.size()) return;  // one more shows that there were too many
  const std::size_t index = look_ups_begun++;
  if (index >= look_ups.size()) return;
  known_look_ups[place] = static_cast<std::uint16_t>(index + 1);
  look_up& mine = look_ups[index];
  mine.caller = caller;
  strncpy(mine.variable.data(), variable, mine.variable.size() - 1);
  mine.complete.store(true, std::memory_order_release);
}

/// Null without libcufault.so.
bool wanted(std::uint8_t what) {
  return &cufault_host_wanted != nullptr && (cufault_host_wanted.load(std::memory_order_relaxed) & what) != 0;
}

void tell_look_up(const void* caller, const char* variable) {
  remember(caller, variable);
  if (wanted(cufault_wants_environment)) cufault_host_asks(caller, variable);
}

// ---- allocations ----

struct range {
  std::uintptr_t begin, end;
};

/// The request of a thread. Lies in the initial part of thread-local memory, because the other part is allocated.
struct request {
  const char* library;  // set while the ranges are searched
  bool active, any, and_all_later, too_many;
  unsigned long n, counted;
  std::size_t ranges;
  std::array<range, 64> code;
};
constinit thread_local request requested __attribute__((tls_model("initial-exec"))){};
constinit thread_local bool within_strdup __attribute__((tls_model("initial-exec"))) = false;

int add_code_of(dl_phdr_info* loaded, std::size_t, void*) {
  request& r = requested;
  const char* path = *loaded->dlpi_name != '\0' ? loaded->dlpi_name : program_invocation_name;
  const char* slash = strrchr(path, '/');
  if (strncmp(slash != nullptr ? slash + 1 : path, r.library, strlen(r.library)) != 0) return 0;
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const auto& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (r.ranges == r.code.size()) {
      r.too_many = true;
      return 1;
    }
    const std::uintptr_t begin = loaded->dlpi_addr + segment.p_vaddr;
    r.code[r.ranges++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

/// True for the allocation inside strdup and for calls of this library: no rule applies to them.
bool has_no_caller(const void* caller) {
  return within_strdup || (caller >= &__ehdr_start && caller < &_end);
}

bool must_fail(const void* caller) {
  request& r = requested;
  if (!r.active) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const auto holds_it = [&](const range& code) { return address >= code.begin && address < code.end; };
  if (!r.any && std::none_of(r.code.begin(), r.code.begin() + r.ranges, holds_it)) return false;
  ++r.counted;
  return r.n != 0 && (r.counted == r.n || (r.counted > r.n && r.and_all_later));
}

bool fails(const char* function, const void* caller, std::uint64_t bytes) {
  if (!requested.active && !wanted(cufault_wants_calls)) return false;
  if (has_no_caller(caller)) return false;
  if (!must_fail(caller) &&
      !(wanted(cufault_wants_calls) && cufault_host_rule_fails(function, caller, bytes)))
    return false;
  errno = ENOMEM;
  return true;
}

// ---- the interposed definitions ----

struct definitions {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  char* (*strdup)(const char*);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  char* (*getenv)(const char*);
  char* (*secure_getenv)(const char*);
};

int libc_posix_memalign(void** memory, size_t alignment, size_t size) {
  void* found = __libc_memalign(alignment, size);
  if (found != nullptr) *memory = found;
  return found != nullptr ? 0 : ENOMEM;
}
char* libc_strdup(const char* text) {
  const std::size_t size = strlen(text) + 1;
  void* copy = __libc_malloc(size);
  return copy != nullptr ? static_cast<char*>(memcpy(copy, text, size)) : nullptr;
}
char* libc_getenv(const char* variable) {
  const std::size_t length = strlen(variable);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (strncmp(*entry, variable, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return nullptr;
}
/// Used for calls during the search for the other definitions.
constexpr definitions of_libc{__libc_malloc,   __libc_calloc,       __libc_realloc, __libc_memalign,
                              __libc_memalign, libc_posix_memalign, libc_strdup,    nullptr,
                              libc_getenv,     libc_getenv};

/// Searched at a process's first allocation, when it has one thread.
const definitions& next() {
  static constinit definitions found = of_libc;
  static constinit std::atomic<int> state{0};
  if (state.load(std::memory_order_acquire) == 2) return found;
  if (state.exchange(1) != 0) return of_libc;
  const auto take = [](auto& function, const char* name) {
    if (void* at = cufault::injector::next_definition(name); at != nullptr)
      function = reinterpret_cast<std::decay_t<decltype(function)>>(at);
  };
  definitions all = of_libc;
  take(all.malloc, "malloc");
  take(all.calloc, "calloc");
  take(all.realloc, "realloc");
  take(all.memalign, "memalign");
  take(all.aligned_alloc, "aligned_alloc");
  take(all.posix_memalign, "posix_memalign");
  take(all.strdup, "strdup");
  take(all.mmap, "mmap");
  take(all.getenv, "getenv");
  take(all.secure_getenv, "secure_getenv");
  found = all;
  state.store(2, std::memory_order_release);
  return found;
}

}  // namespace

// ---- the interposing functions ----

CUFAULT_EXPORTED char* getenv(const char* variable) noexcept {
  tell_look_up(CUFAULT_CALLER, variable);
  return next().getenv(variable);
}

CUFAULT_EXPORTED char* secure_getenv(const char* variable) noexcept {
  tell_look_up(CUFAULT_CALLER, variable);
  return next().secure_getenv(variable);
}

CUFAULT_EXPORTED void* malloc(size_t size) noexcept {
  return fails("malloc", CUFAULT_CALLER, size) ? nullptr : next().malloc(size);
}

CUFAULT_EXPORTED void* calloc(size_t count, size_t size) noexcept {
  return fails("calloc", CUFAULT_CALLER, count * size) ? nullptr : next().calloc(count, size);
}

CUFAULT_EXPORTED void* realloc(void* memory, size_t size) noexcept {
  return fails("realloc", CUFAULT_CALLER, size) ? nullptr : next().realloc(memory, size);
}

CUFAULT_EXPORTED void* memalign(size_t alignment, size_t size) noexcept {
  return fails("memalign", CUFAULT_CALLER, size) ? nullptr : next().memalign(alignment, size);
}

CUFAULT_EXPORTED void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails("aligned_alloc", CUFAULT_CALLER, size) ? nullptr : next().aligned_alloc(alignment, size);
}

CUFAULT_EXPORTED int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  const int result =
      fails("posix_memalign", CUFAULT_CALLER, size) ? ENOMEM : next().posix_memalign(memory, alignment, size);
  errno = before;
  return result;
}

CUFAULT_EXPORTED char* strdup(const char* text) noexcept {
  if (fails("strdup", CUFAULT_CALLER, strlen(text) + 1)) return nullptr;
  within_strdup = true;
  char* copy = next().strdup(text);
  within_strdup = false;
  return copy;
}

CUFAULT_EXPORTED void* mmap(void* address, size_t size, int protection, int flags, int file,
                            off_t offset) noexcept {
  // host_faults does not count this allocation: only rules make it fail.
  if (wanted(cufault_wants_calls) && !has_no_caller(CUFAULT_CALLER) &&
      cufault_host_rule_fails("mmap", CUFAULT_CALLER, size)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  auto* const real = next().mmap;
  if (real != nullptr) return real(address, size, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
/// The name of mmap in programs built with _FILE_OFFSET_BITS=64.
CUFAULT_EXPORTED __attribute__((alias("mmap"))) void* mmap64(void*, size_t, int, int, int, off64_t) noexcept;

// ---- interface for host_faults.cpp ----

CUFAULT_EXPORTED std::size_t cufault_host_look_ups() {
  return look_ups_begun;
}

CUFAULT_EXPORTED bool cufault_host_look_up(std::size_t index, const void** caller, const char** variable) {
  if (index >= look_ups.size()) return false;
  look_up& found = look_ups[index];
  while (!found.complete.load(std::memory_order_acquire)) {
  }
  *caller = found.caller;
  *variable = found.variable.data();
  return true;
}

CUFAULT_EXPORTED bool cufault_host_fail_allocation(const char* library, unsigned long n, bool and_all_later) {
  request& r = requested;
  r = {};
  r.library = library;
  r.any = *library == '\0';
  r.n = n;
  r.and_all_later = and_all_later;
  if (!r.any) dl_iterate_phdr(add_code_of, nullptr);
  r.library = nullptr;
  r.active = r.any || (r.ranges != 0 && !r.too_many);
  return r.active;
}

CUFAULT_EXPORTED unsigned long cufault_host_allocations_counted() {
  requested.active = false;
  return requested.counted;
}
