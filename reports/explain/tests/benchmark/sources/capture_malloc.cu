// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void init(float* x) {
  x[threadIdx.x] = threadIdx.x;
}

int main() {
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  float* scratch;
  CUDA_CHECK(cudaMalloc(&scratch, 1 << 20));
  init<<<1, 256, 0, stream>>>(scratch);
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  std::puts("captured");
}
