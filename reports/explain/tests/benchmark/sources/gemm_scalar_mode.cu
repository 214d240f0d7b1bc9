// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  float *x, *c;
  CUDA_CHECK(cudaMalloc(&x, sizeof(float) * 128 * 128));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 128 * 128));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 128, 128, 128, &one, x, 128, x, 128, &zero, c, 128));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::printf("done\n");
}
