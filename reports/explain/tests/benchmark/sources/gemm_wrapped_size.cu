// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const long long tokens = 3000000000LL, width = 1;
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1 << 20));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  std::printf("product of %lld tokens by %lld\n", tokens, width);
  const cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)tokens, 1, 1, &one, x,
                                            (int)tokens, x, 1, &zero, x, (int)tokens);
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "cublasSgemm(m=%d, n=1, k=1, lda=%d) failed: %s\n", (int)tokens, (int)tokens,
                 cublasGetStatusName(status));
    return 1;
  }
}
