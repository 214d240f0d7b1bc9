// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cuda_bf16.h>

#include "check.h"

int main() {
  const int n = 256;
  __nv_bfloat16 *buffer, *out;
  CUDA_CHECK(cudaMalloc(&buffer, sizeof(__nv_bfloat16) * (2 * n * n + 8)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(__nv_bfloat16) * n * n));
  cublasLtHandle_t handle;
  CUBLAS_CHECK(cublasLtCreate(&handle));
  cublasLtMatmulDesc_t product;
  CUBLAS_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatrixLayout_t layout;
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, n, n, n));
  cublasLtMatmulPreference_t preference;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout, layout, preference, 1,
                                              &found, &count));
  const float one = 1, zero = 0;
  __nv_bfloat16 *a = buffer + 3, *b = buffer + 3 + n * n;
  std::printf("A at %p, B at %p\n", (void*)a, (void*)b);
  CUBLAS_CHECK(cublasLtMatmul(handle, product, &one, a, layout, b, layout, &zero, out, layout, out, layout,
                              &found.algo, nullptr, 0, 0));
  CUDA_CHECK(cudaDeviceSynchronize());
}
