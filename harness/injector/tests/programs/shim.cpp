// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A preloaded library that stands in front of one driver function and finds the driver's by RTLD_NEXT, as tracers do.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" __attribute__((visibility("default"))) int cuMemAlloc_v2(std::uint64_t* address,
                                                                    std::size_t bytes) {
  static auto* const next =
      reinterpret_cast<int (*)(std::uint64_t*, std::size_t)>(dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
  std::printf("shim ");
  return next != nullptr ? next(address, bytes) : -1;
}
