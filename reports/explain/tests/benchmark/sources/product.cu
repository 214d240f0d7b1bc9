// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.h"

int main() {
  const int n = 256;
  std::vector<float> host(n * n, 0.5F);
  float *a, *c;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * n * n));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * n * n));
  CUDA_CHECK(cudaMemcpy(a, host.data(), sizeof(float) * n * n, cudaMemcpyHostToDevice));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a, n, &zero, c, n));
  CUDA_CHECK(cudaMemcpy(host.data(), c, sizeof(float) * n * n, cudaMemcpyDeviceToHost));
  std::printf("C[0] = %g, expected %g: %s\n", host[0], n * 0.25, host[0] == n * 0.25F ? "PASSED" : "FAILED");
  CUBLAS_CHECK(cublasDestroy(handle));
}
