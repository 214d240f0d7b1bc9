// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A preloaded library that shares a GPU among processes, and is difficult for others. It defines every version of dlsym. It searches driver
// names everywhere before the given library, and returns its own functions by their global names. It looks up under other names than the
// driver's, and allocates managed memory instead, at most 1000 bytes.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SHARER extern "C" __attribute__((visibility("default")))

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

namespace {

using dlsym_function = void*(void*, const char*);

dlsym_function* real_dlsym() {
  static auto* const real = reinterpret_cast<dlsym_function*>(dlvsym(RTLD_NEXT, "dlsym", OLDEST));
  return real;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(real_dlsym()(dlopen("libcuda.so.1", RTLD_LAZY), name));
}

using look_up = int(const char*, void**, int, std::uint64_t);

}  // namespace

SHARER int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  static auto* const next = real<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
  const int result = next(free_bytes, total_bytes);
  *free_bytes = 1000;
  return result;
}

SHARER int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  static auto* const next = real<int(std::uint64_t*, std::size_t, unsigned)>("cuMemAllocManaged");
  std::size_t free_bytes = 0, total_bytes = 0;
  const int result = cuMemGetInfo_v2(&free_bytes, &total_bytes);
  std::printf("sharer ");
  if (result != 0) return result;
  return bytes > free_bytes ? 2 : next(address, bytes, 1);
}

SHARER int sharer_look_up(const char* symbol, void** found, int version, std::uint64_t flags);

namespace {

int looks_up(const char* symbol, void** found, int version, std::uint64_t flags) {
  static auto* const next = real<look_up>("cuGetProcAddress");
  const int result = next(symbol, found, version, flags);
  if (result == 0 && std::strcmp(symbol, "cuMemAlloc") == 0) *found = reinterpret_cast<void*>(cuMemAlloc_v2);
  if (result == 0 && std::strcmp(symbol, "cuGetProcAddress") == 0)
    *found = reinterpret_cast<void*>(sharer_look_up);
  return result;
}

}  // namespace

SHARER int cuGetProcAddress(const char* symbol, void** found, int version, std::uint64_t flags) {
  return looks_up(symbol, found, version, flags);
}
SHARER int sharer_look_up(const char* symbol, void** found, int version, std::uint64_t flags) {
  std::printf("sharer ");
  return looks_up(symbol, found, version, flags);
}

SHARER int cuGetProcAddress_v2(const char* symbol, void** found, int version, std::uint64_t flags,
                               int* status) {
  static auto* const next = real<int(const char*, void**, int, std::uint64_t, int*)>("cuGetProcAddress_v2");
  const int result = next(symbol, found, version, flags, status);
  if (result == 0 && std::strcmp(symbol, "cuMemAlloc") == 0) *found = reinterpret_cast<void*>(cuMemAlloc_v2);
  if (result == 0 && std::strcmp(symbol, "cuGetProcAddress") == 0)
    *found = reinterpret_cast<void*>(cuGetProcAddress_v2);
  return result;
}

extern "C" void* sharer_dlsym(void* library, const char* name) noexcept {
  // Where it looks first: in a file, like a library that is installed twice, or everywhere.
  static const char* const file = std::getenv("SHARER_LOOKS_IN");
  static void* const first = file != nullptr ? dlopen(file, RTLD_LAZY) : RTLD_DEFAULT;
  if (name[0] == 'c' && name[1] == 'u' && library != RTLD_NEXT)
    if (void* found = real_dlsym()(first, name); found != nullptr) return found;
  if (std::strcmp(name, "cuMemAlloc_v2") == 0) return reinterpret_cast<void*>(cuMemAlloc_v2);
  return real_dlsym()(library, name);
}
extern "C" __attribute__((alias("sharer_dlsym"))) void* sharer_dlsym_of_later(void*, const char*) noexcept;
__asm__(".symver sharer_dlsym, dlsym@@" OLDEST);
__asm__(".symver sharer_dlsym_of_later, dlsym@GLIBC_2.34");
