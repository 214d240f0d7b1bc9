// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A preloaded library that interposes one function of cuBLAS, like profilers.
#include <dlfcn.h>

#include <cstdio>

extern "C" __attribute__((visibility("default"))) int cublasSgemm_v2(void* handle, int a, int b, int m, int n,
                                                                     int k, const float* alpha,
                                                                     const float* x, int lda, const float* y,
                                                                     int ldb, const float* beta, float* c,
                                                                     int ldc) {
  static auto* const next = reinterpret_cast<decltype(&cublasSgemm_v2)>(dlsym(RTLD_NEXT, "cublasSgemm_v2"));
  std::printf("shim ");
  const int status = next(handle, a, b, m, n, k, alpha, x, lda, y, ldb, beta, c, ldc);
  return status;  // compiled so that this is no tail call
}
