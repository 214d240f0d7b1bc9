// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  float *a, *c;
  CUDA_CHECK(cudaMalloc(&a, 256 * 256 * 4));
  CUDA_CHECK(cudaMalloc(&c, 256 * 256 * 4));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  for (int request = 0; request < 2; ++request) {
    if (request == 0) {
      cudaStream_t stream;
      CUDA_CHECK(cudaStreamCreate(&stream));
      CUBLAS_CHECK(cublasSetStream(handle, stream));
      CUDA_CHECK(cudaStreamDestroy(stream));
    }
    CUBLAS_CHECK(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, a, 256, a, 256, &zero, c, 256));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::printf("request %d done\n", request);
  }
}
