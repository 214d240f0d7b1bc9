// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <cstdio>

int main() {
  constexpr int n = 64;
  float *a = nullptr, one = 1, zero = 0;
  cudaMalloc(&a, 3 * n * n * sizeof *a);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  cublasSetStream(handle, stream);
  cudaStreamDestroy(stream);
  const cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a + n * n,
                                            n, &zero, a + 2 * n * n, n);
  if (status != CUBLAS_STATUS_SUCCESS) std::printf("gemm failed with status %d\n", status);
  return status != CUBLAS_STATUS_SUCCESS;
}
