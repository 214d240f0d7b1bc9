// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void step(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 0.5F + 1;
}

int main() {
  const int n = 1 << 20;
  cudaStream_t streams[4];
  float* x[4];
  for (int s = 0; s < 4; ++s) {
    CUDA_CHECK(cudaStreamCreate(&streams[s]));
    CUDA_CHECK(cudaMallocAsync(&x[s], n * sizeof(float), streams[s]));
    CUDA_CHECK(cudaMemsetAsync(x[s], 0, n * sizeof(float), streams[s]));
    for (int i = 0; i < 20; ++i) step<<<n / 256, 256, 0, streams[s]>>>(x[s], n);
    CUDA_CHECK(cudaGetLastError());
  }
  for (int s = 0; s < 4; ++s) {
    float first = 0;
    CUDA_CHECK(cudaMemcpyAsync(&first, x[s], sizeof first, cudaMemcpyDeviceToHost, streams[s]));
    CUDA_CHECK(cudaStreamSynchronize(streams[s]));
    std::printf("stream %d: %g, error 0\n", s, first);
    CUDA_CHECK(cudaFreeAsync(x[s], streams[s]));
  }
}
