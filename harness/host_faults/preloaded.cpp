// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault_host.so: stands in front of functions of the C library. Runs before main, before constructors, inside of malloc and beside
// other threads, so nothing here allocates, locks or throws. free() needs no stand-in: the memory is the C library's own.
#include "harness/host_faults/preloaded.hpp"

#include "harness/host_faults/host_faults.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// The names under which the C library offers its own functions to others that stand in front of them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
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

bool is(const look_up& known, const void* caller, const char* variable) {
  return known.complete.load(std::memory_order_acquire) && known.caller == caller &&
         strncmp(known.variable.data(), variable, known.variable.size() - 1) == 0;
}

void remember(const void* caller, const char* variable) {
  const std::size_t known = std::min(look_ups_begun.load(), look_ups.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (is(look_ups[i], caller, variable)) return;
  }
  const std::size_t index = look_ups_begun++;
  if (index >= look_ups.size()) return;
  look_up& mine = look_ups[index];
  mine.caller = caller;
  strncpy(mine.variable.data(), variable, mine.variable.size() - 1);
  mine.complete.store(true, std::memory_order_release);
}

char* value_of(const char* variable) {
  const std::size_t length = strlen(variable);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, variable, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

// ---- allocations ----

struct range {
  std::uintptr_t begin, end;
};

/// What a thread asked for. In the part of thread-local memory that is there from the start: the other part is allocated.
struct request {
  const char* library;  // while the ranges are looked for
  bool active, any, and_all_later, too_many;
  unsigned long n, counted;
  std::size_t ranges;
  std::array<range, 64> code;
};
constinit thread_local request requested __attribute__((tls_model("initial-exec"))){};

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

bool must_fail(const void* caller) {
  request& r = requested;
  if (!r.active) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const auto holds_it = [&](const range& code) { return address >= code.begin && address < code.end; };
  if (!r.any && std::none_of(r.code.begin(), r.code.begin() + r.ranges, holds_it)) return false;
  ++r.counted;
  if (r.n == 0 || r.counted < r.n || (r.counted > r.n && !r.and_all_later)) return false;
  errno = ENOMEM;
  return true;
}

// ---- cuGetProcAddress ----

using look_up_v1 = int(const char* symbol, void** entry, int version, std::uint64_t flags);
using look_up_v2 = int(const char* symbol, void** entry, int version, std::uint64_t flags, void* status);
std::atomic<look_up_v1*> real_v1;
std::atomic<look_up_v2*> real_v2;

const char* hidden_entry() {
  return value_of(cufault::host_faults::hidden_entry_variable);
}

/// The driver then gives its own answer for what it does not have.
const char* or_unknown(const char* symbol) {
  const char* hidden = hidden_entry();
  return hidden != nullptr && strcmp(symbol, hidden) == 0 ? "cufaultHiddenEntry" : symbol;
}

int stand_in_v1(const char* symbol, void** entry, int version, std::uint64_t flags);
int stand_in_v2(const char* symbol, void** entry, int version, std::uint64_t flags, void* status);

void* in_front_of_v1(void* real) {
  if (real == nullptr) return nullptr;
  real_v1 = reinterpret_cast<look_up_v1*>(real);
  return reinterpret_cast<void*>(stand_in_v1);
}
void* in_front_of_v2(void* real) {
  if (real == nullptr) return nullptr;
  real_v2 = reinterpret_cast<look_up_v2*>(real);
  return reinterpret_cast<void*>(stand_in_v2);
}

/// The runtime asks the look-up function for the look-up function, and goes on with that.
int with_stand_in(int status, const char* symbol, void** entry, int version) {
  if (status == 0 && entry != nullptr && strcmp(symbol, "cuGetProcAddress") == 0)
    *entry = version < 12000 ? in_front_of_v1(*entry) : in_front_of_v2(*entry);
  return status;
}

int stand_in_v1(const char* symbol, void** entry, int version, std::uint64_t flags) {
  return with_stand_in(real_v1.load()(or_unknown(symbol), entry, version, flags), symbol, entry, version);
}
int stand_in_v2(const char* symbol, void** entry, int version, std::uint64_t flags, void* status) {
  return with_stand_in(real_v2.load()(or_unknown(symbol), entry, version, flags, status), symbol, entry,
                       version);
}

using dlsym_function = void*(void* library, const char* name);
dlsym_function* real_dlsym() {
  static constinit std::atomic<void*> known{nullptr};
  // The oldest versions of x86-64 and aarch64; newer C libraries keep them.
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17"}) {
    if (known == nullptr) known = dlvsym(RTLD_NEXT, "dlsym", version);
  }
  return reinterpret_cast<dlsym_function*>(known.load());
}

}  // namespace

// ---- what stands in front ----

EXPORTED char* getenv(const char* variable) noexcept {
  remember(CALLER, variable);
  return value_of(variable);
}

EXPORTED char* secure_getenv(const char* variable) noexcept {
  remember(CALLER, variable);
  return getauxval(AT_SECURE) != 0 ? nullptr : value_of(variable);
}

EXPORTED void* malloc(size_t size) noexcept {
  return must_fail(CALLER) ? nullptr : __libc_malloc(size);
}

EXPORTED void* calloc(size_t count, size_t size) noexcept {
  return must_fail(CALLER) ? nullptr : __libc_calloc(count, size);
}

EXPORTED void* realloc(void* memory, size_t size) noexcept {
  return must_fail(CALLER) ? nullptr : __libc_realloc(memory, size);
}

EXPORTED void* memalign(size_t alignment, size_t size) noexcept {
  return must_fail(CALLER) ? nullptr : __libc_memalign(alignment, size);
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return must_fail(CALLER) ? nullptr : __libc_memalign(alignment, size);
}

EXPORTED int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* found = must_fail(CALLER) ? nullptr : __libc_memalign(alignment, size);
  errno = before;
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

EXPORTED char* strdup(const char* text) noexcept {
  if (must_fail(CALLER)) return nullptr;
  const std::size_t size = strlen(text) + 1;
  void* copy = __libc_malloc(size);
  return copy != nullptr ? static_cast<char*>(memcpy(copy, text, size)) : nullptr;
}

// The last call must be a jump: the real one looks at its caller's address to know what RTLD_NEXT means.
EXPORTED void* dlsym(void* library, const char* name) noexcept {
  if (strncmp(name, "cuGetProcAddress", 16) == 0 && hidden_entry() != nullptr) {
    if (name[16] == '\0') return in_front_of_v1(real_dlsym()(library, name));
    if (strcmp(name + 16, "_v2") == 0) return in_front_of_v2(real_dlsym()(library, name));
  }
  return real_dlsym()(library, name);
}

// ---- what host_faults.cpp asks ----

EXPORTED std::size_t cufault_host_look_ups() {
  return look_ups_begun;
}

EXPORTED bool cufault_host_look_up(std::size_t index, const void** caller, const char** variable) {
  if (index >= look_ups.size()) return false;
  look_up& found = look_ups[index];
  while (!found.complete.load(std::memory_order_acquire)) {
  }
  *caller = found.caller;
  *variable = found.variable.data();
  return true;
}

EXPORTED bool cufault_host_fail_allocation(const char* library, unsigned long n, bool and_all_later) {
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

EXPORTED unsigned long cufault_host_allocations_counted() {
  requested.active = false;
  return requested.counted;
}
