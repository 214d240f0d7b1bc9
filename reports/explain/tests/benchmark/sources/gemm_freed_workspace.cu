// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const int k = 1 << 18;
  float *a, *c;
  void* workspace;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * 32 * k));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 32 * 32));
  CUDA_CHECK(cudaMalloc(&workspace, std::size_t(64) << 20));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasSetWorkspace(handle, workspace, std::size_t(64) << 20));
  CUDA_CHECK(cudaFree(workspace));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 32, k, &one, a, k, a, k, &zero, c, 32));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
