// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  float *a = nullptr, *alpha = nullptr;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * 64 * 64));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float zero = 0;
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, alpha, a, 64, a, 64, &zero, a, 64));
  CUDA_CHECK(cudaDeviceSynchronize());
}
