// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  void *a, *c;
  CUDA_CHECK(cudaMalloc(&a, 1 << 16));
  CUDA_CHECK(cudaMalloc(&c, 1 << 16));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, a, CUDA_R_16F, 64, a,
                            CUDA_R_16BF, 64, &zero, c, CUDA_R_32F, 64, CUBLAS_COMPUTE_32F,
                            CUBLAS_GEMM_DEFAULT));
  CUDA_CHECK(cudaDeviceSynchronize());
}
