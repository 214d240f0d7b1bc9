// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A library that resolves and calls the driver itself, as cuBLAS does.
#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define LIBRARY extern "C" __attribute__((visibility("default")))

LIBRARY void* library_resolves(const char* name);

namespace {

int calls_alloc(std::uint64_t* address, std::size_t bytes) {
  auto* function = reinterpret_cast<int (*)(std::uint64_t*, std::size_t)>(
      dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemAlloc_v2"));
  const int result = function(address, bytes);
  return result + 0;  // prevents a tail call
}

/// Calls a function that another file resolved.
int calls_anothers(int (*function)(std::uint64_t*, std::size_t), std::uint64_t* address, std::size_t bytes) {
  const int result = function(address, bytes);
  return result + 0;
}

}  // namespace

namespace {

void at_fork() {
  static_cast<void>(std::getenv("ASKED_AT_FORK"));
}

}  // namespace

/// Runs before the constructors of earlier preloaded libraries.
__attribute__((constructor)) static void begin() {
  if (std::getenv("HANDLE_FORKS") != nullptr) pthread_atfork(at_fork, at_fork, at_fork);
  const char* rules = std::getenv("SET_RULES_AT_THE_START");
  auto* set = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  if (rules != nullptr && set != nullptr) set(rules);
}

/// Runs after the destructors of preloaded libraries.
__attribute__((destructor)) static void end() {
  int version = 0;
  if (std::getenv("CALL_AT_THE_END") != nullptr)
    reinterpret_cast<int (*)(int*)>(library_resolves("cuDriverGetVersion"))(&version);
}

LIBRARY void* library_resolves(const char* name) {
  if (std::strcmp(name, "calls_cuMemAlloc") == 0) return reinterpret_cast<void*>(calls_alloc);
  if (std::strcmp(name, "calls_another's") == 0) return reinterpret_cast<void*>(calls_anothers);
  return dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
}

LIBRARY int library_allocates(std::uint64_t* address, std::size_t bytes) {
  auto* function = reinterpret_cast<decltype(&calls_alloc)>(library_resolves("cuMemAlloc_v2"));
  const int result = function(address, bytes);
  asm volatile("" : : "r"(result));  // prevents a tail call
  return result;
}
/// Resolves like an interposing library.
LIBRARY void* library_resolves_next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  asm volatile("" : : "r"(found));  // prevents a tail call
  return found;
}
