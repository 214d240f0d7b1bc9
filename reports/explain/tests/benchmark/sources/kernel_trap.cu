// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void validate(const float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (!(x[i] > 0)) __trap();
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 4096));
  CUDA_CHECK(cudaMemset(x, 0, 4096));
  validate<<<1, 128>>>(x, 1024);
  cudaDeviceSynchronize();
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  std::puts("handle created");
}
