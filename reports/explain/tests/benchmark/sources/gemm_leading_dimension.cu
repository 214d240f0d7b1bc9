// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const int rows = 512, columns = 128, inner = 256;
  float *a, *b, *c;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * rows * inner));
  CUDA_CHECK(cudaMalloc(&b, sizeof(float) * inner * columns));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * rows * columns));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  std::printf("C(%d x %d) = A(%d x %d) * B\n", rows, columns, rows, inner);
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, inner, &one, a, inner, b, inner,
                           &zero, c, rows));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::printf("done\n");
}
