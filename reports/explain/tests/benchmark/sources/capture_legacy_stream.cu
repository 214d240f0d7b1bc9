// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void step(float* x) {
  x[threadIdx.x] += 1;
}

int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1024));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  step<<<1, 256, 0, stream>>>(x);
  step<<<1, 256>>>(x);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  std::puts("captured");
}
