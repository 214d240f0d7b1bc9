// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include "check.h"

int main() {
  cublasLtHandle_t handle;
  CUBLAS_CHECK(cublasLtCreate(&handle));
  cublasLtMatmulDesc_t product;
  CUBLAS_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatrixLayout_t a, b, d;
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&a, CUDA_R_8F_E4M3, 128, 64, 128));
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&b, CUDA_R_8F_E4M3, 64, 96, 64));
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 128, 96, 128));
  cublasLtMatmulPreference_t preference;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, d, d, preference, 1, &found, &count));
  std::printf("algorithms: %d\n", count);
}
