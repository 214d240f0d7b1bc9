// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <cstdio>

__global__ void fill(float* x) {
  x[(1ULL << 36) + threadIdx.x] = 1;
}

int main() {
  float* x = nullptr;
  cudaMalloc(&x, 1 << 20);
  fill<<<1, 32>>>(x);
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = cublasCreate(&handle);
  if (status != CUBLAS_STATUS_SUCCESS) std::printf("cuBLAS failed with status %d\n", status);
  return status != CUBLAS_STATUS_SUCCESS;
}
