// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A preloaded library that interposes dlsym, like those that share a GPU: allocations beyond 1000 bytes fail, however the function was
// resolved.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#define LIMITER extern "C" __attribute__((visibility("default")))

namespace {

using dlsym_function = void*(void*, const char*);

/// As in all such libraries: the C library's oldest version of dlsym.
dlsym_function* real_dlsym() {
#if defined(__x86_64__)
  static auto* const real = reinterpret_cast<dlsym_function*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
#else
  static auto* const real = reinterpret_cast<dlsym_function*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17"));
#endif
  return real;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(real_dlsym()(dlopen("libcuda.so.1", RTLD_LAZY), name));
}

}  // namespace

LIMITER int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  static auto* const next = real<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  std::printf("limiter ");
  return bytes > 1000 ? 2 : next(address, bytes);
}

LIMITER int cuGetProcAddress_v2(const char* symbol, void** found, int version, std::uint64_t flags,
                                int* status) {
  static auto* const next = real<int(const char*, void**, int, std::uint64_t, int*)>("cuGetProcAddress_v2");
  const int result = next(symbol, found, version, flags, status);
  if (result == 0 && std::strcmp(symbol, "cuMemAlloc") == 0) *found = reinterpret_cast<void*>(cuMemAlloc_v2);
  return result;
}

LIMITER void* dlsym(void* library, const char* name) noexcept {
  if (std::strcmp(name, "cuMemAlloc_v2") == 0) return reinterpret_cast<void*>(cuMemAlloc_v2);
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0) return reinterpret_cast<void*>(cuGetProcAddress_v2);
  return real_dlsym()(library, name);
}
