// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void reduce(const float* in, float* out) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) *out = tile[0] + tile[blockDim.x - 1];
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1 << 20));
  const std::size_t bytes = 300 * 1024;
  reduce<<<1, 1024, bytes>>>(x, x + 1024);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("reduced");
}
