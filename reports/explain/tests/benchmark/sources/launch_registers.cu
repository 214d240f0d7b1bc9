// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void __launch_bounds__(256) heavy(float* x) {
  float v[200];
#pragma unroll
  for (int i = 0; i < 200; ++i) v[i] = x[i * blockDim.x + threadIdx.x];
#pragma unroll
  for (int i = 1; i < 200; ++i) v[i] = v[i] * v[i - 1] + v[199 - i];
#pragma unroll
  for (int i = 0; i < 200; ++i) x[i * blockDim.x + threadIdx.x] = v[i];
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, sizeof(float) * 200 * 1024));
  heavy<<<1, 1024>>>(x);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
