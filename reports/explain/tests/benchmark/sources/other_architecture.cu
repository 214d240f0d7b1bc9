// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void square(float* x) {
  x[threadIdx.x] *= x[threadIdx.x];
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1024));
  square<<<1, 256>>>(x);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("squared");
}
