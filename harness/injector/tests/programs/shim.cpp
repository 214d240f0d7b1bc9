// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A preloaded library that interposes driver functions and finds the driver's by RTLD_NEXT, like tracers. One of its functions calls
// another one.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#define SHIM extern "C" __attribute__((visibility("default")))

SHIM int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  static auto* const next =
      reinterpret_cast<int (*)(std::size_t*, std::size_t*)>(dlsym(RTLD_NEXT, "cuMemGetInfo_v2"));
  return next != nullptr ? next(free_bytes, total_bytes) : -1;
}

SHIM int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  static auto* const next =
      reinterpret_cast<int (*)(std::uint64_t*, std::size_t)>(dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
  std::size_t free_bytes = 0, total_bytes = 0;
  cuMemGetInfo_v2(&free_bytes, &total_bytes);
  std::printf("shim ");
  return next != nullptr ? next(address, bytes) : -1;
}
