// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const int k = 1 << 18;
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  for (int job = 0; job < 2; ++job) {
    float *a, *c;
    CUDA_CHECK(cudaMalloc(&a, sizeof(float) * 32 * k));
    CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 32 * 32));
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 32, k, &one, a, k, a, k, &zero, c, 32));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::printf("job %d done\n", job);
    CUDA_CHECK(cudaDeviceReset());
  }
}
