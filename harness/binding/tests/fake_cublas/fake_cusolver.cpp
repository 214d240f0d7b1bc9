// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcusolver 12.0.5 without a GPU. Like NVIDIA's it needs the cuBLAS of its folder. FAKE_CUSOLVER_CREATE: status of cusolverDnCreate.
#include <cstdlib>

extern "C" int cublasDestroy_v2(void*);

#define EXPORTED extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
EXPORTED int cusolverDnCreate(void** handle) {
  static int handle_itself;
  *handle = &handle_itself;
  const char* order = std::getenv("FAKE_CUSOLVER_CREATE");
  return order != nullptr ? std::atoi(order) : 0;
}

EXPORTED int cusolverDnDestroy(void* handle) {
  return cublasDestroy_v2(handle);
}

EXPORTED int cusolverGetProperty(int which, int* value) {
  *value = which == 0 ? 12 : which == 1 ? 0 : 5;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
