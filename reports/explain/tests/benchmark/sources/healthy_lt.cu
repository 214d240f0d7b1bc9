// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cuda_fp16.h>

#include "check.h"

int main() {
  const int n = 512;
  __half* x;
  CUDA_CHECK(cudaMalloc(&x, sizeof(__half) * n * n * 2));
  CUDA_CHECK(cudaMemset(x, 0, sizeof(__half) * n * n * 2));
  cublasLtHandle_t handle;
  CUBLAS_CHECK(cublasLtCreate(&handle));
  cublasLtMatmulDesc_t product;
  CUBLAS_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatrixLayout_t layout;
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16F, n, n, n));
  cublasLtMatmulPreference_t preference;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t found[8];
  int count = 0;
  CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout, layout, preference, 8,
                                              found, &count));
  std::printf("%d algorithms, the first needs %zu bytes of workspace\n", count, found[0].workspaceSize);
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasLtMatmul(handle, product, &one, x, layout, x, layout, &zero, x + n * n, layout,
                              x + n * n, layout, &found[0].algo, nullptr, 0, nullptr));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("Test PASSED");
}
