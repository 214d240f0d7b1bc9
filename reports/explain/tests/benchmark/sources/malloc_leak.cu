// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void scale(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}

int main() {
  for (int step = 0; step < 100000; ++step) {
    float* scratch;
    CUDA_CHECK(cudaMalloc(&scratch, std::size_t(2) << 30));
    scale<<<1, 256>>>(scratch, 1024);
    CUDA_CHECK(cudaDeviceSynchronize());
    if (step % 16 == 0) std::printf("step %d\n", step);
  }
}
