// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcublas for library_test.cpp, in several versions and under several names. It has no device; it checks its arguments and calls
// cuBLASLt, and its functions have the symbol version of NVIDIA's.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define BLAS extern "C" __attribute__((visibility("default")))

extern "C" int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                              const void*, void*, void*, void*, const void*, void*, std::size_t, void*);

BLAS int cublasCreate_v2(void** handle) {
  static int one = 0;
  *handle = &one;
  return 0;
}
BLAS int cublasGetStream_v2(void*, void** stream) {
  *stream = nullptr;
  return 0;
}
BLAS int cublasGetVersion_v2(void*, int* version) {
  *version = FAKE_MAJOR;
  return 0;
}
/// Returns no status.
BLAS std::size_t cublasGetCudartVersion() {
  return FAKE_MAJOR * 1000;
}
/// With FAKE_BLAS_FAILS its driver call fails, and it returns EXECUTION_FAILED; with "later" from its second call on.
BLAS int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                        const float*, float* c, int) {
  if (const char* fails = std::getenv("FAKE_BLAS_FAILS"); fails != nullptr) {
    auto* record =
        reinterpret_cast<int (*)(void*, void*)>(dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuEventRecord"));
    static int calls = 0;
    const bool ignored = ++calls == 1 && std::strcmp(fails, "later") == 0;
    if (record == nullptr || (record(nullptr, nullptr) != 0 && !ignored)) return 13;
  }
  if (c != nullptr) *c += 1;
  return 0;
}
BLAS int cublasSgemm_v2_64(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const float*,
                           const float*, std::int64_t, const float*, std::int64_t, const float*, float* c,
                           std::int64_t) {
  *c += 64;
  return 0;
}
/// 23 arguments, 17 of them on the stack of x86-64: 7 (INVALID_VALUE) unless they are the numbers from 1 on.
BLAS int cublasGemmStridedBatchedEx(void* a, int b, int c, int d, int e, int f, const void* g, const void* h,
                                    int i, int j, long long k, const void* l, int m, int n, long long o,
                                    const void* p, void* q, int r, int s, long long t, int u, int v, int w) {
  const auto number = [](const void* pointer) {
    return static_cast<long long>(reinterpret_cast<std::uintptr_t>(pointer));
  };
  const long long all[]{number(a), b, c, d,         e,         f, number(g), number(h), i, j, k, number(l),
                        m,         n, o, number(p), number(q), r, s,         t,         u, v, w};
  long long expected = 0;
  for (const long long each : all)
    if (each != ++expected) return 7;
  return 0;
}
BLAS int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
                      int, const void*, void*, int, int, int, int) {
  const int status = cublasLtMatmul(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr);
  return status + 0;  // prevents a tail call
}
