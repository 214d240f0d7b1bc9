// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void fill(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 1.0F;
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1 << 20));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  fill<<<1, 2048>>>(x, 1 << 18);
  float norm = 0;
  CUBLAS_CHECK(cublasSnrm2(handle, 1 << 18, x, 1, &norm));
  CUDA_CHECK(cudaGetLastError());
  std::printf("norm %f\n", norm);
}
