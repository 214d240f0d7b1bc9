// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  std::size_t piece = std::size_t(1) << 32, held = 0;
  void* cache;
  CUDA_CHECK(cudaFree(nullptr));
  for (; piece >= 1 << 20; piece /= 2)
    while (cudaMalloc(&cache, piece) == cudaSuccess) held += piece;
  cudaGetLastError();
  std::printf("cache: %zu MiB\n", held >> 20);
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  std::puts("ready");
}
