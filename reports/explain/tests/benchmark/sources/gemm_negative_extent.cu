// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main(int argc, char**) {
  const int tokens = argc - 9, width = 64;
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1 << 20));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  const cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, width, &one, x,
                                            width, x, width, &zero, x, width);
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::printf("cublasSgemm m=%d n=%d k=%d returned %d\n", width, tokens, width, status);
    return 1;
  }
  CUDA_CHECK(cudaDeviceSynchronize());
}
