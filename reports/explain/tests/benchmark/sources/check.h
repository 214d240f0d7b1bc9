// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What many programs have in a header of this name.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                                   \
  do {                                                                                                     \
    const cudaError_t e = (call);                                                                          \
    if (e != cudaSuccess) {                                                                                \
      std::fprintf(stderr, "CUDA error at %s:%d: %s (%d: %s)\n", __FILE__, __LINE__, cudaGetErrorName(e),   \
                   static_cast<int>(e), cudaGetErrorString(e));                                            \
      std::exit(EXIT_FAILURE);                                                                             \
    }                                                                                                      \
  } while (0)

#define CUBLAS_CHECK(call)                                                                                 \
  do {                                                                                                     \
    const cublasStatus_t s = (call);                                                                       \
    if (s != CUBLAS_STATUS_SUCCESS) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, cublasGetStatusString(s)); \
      std::exit(EXIT_FAILURE);                                                                             \
    }                                                                                                      \
  } while (0)
