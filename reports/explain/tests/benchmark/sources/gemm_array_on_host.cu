// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const int batch = 8;
  float* matrices;
  CUDA_CHECK(cudaMalloc(&matrices, sizeof(float) * 64 * 64 * batch));
  const float* a[batch];
  float* c[batch];
  for (int i = 0; i < batch; ++i) a[i] = c[i] = matrices + i * 64 * 64;
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, a, 64, a, 64, &zero, c,
                                  64, batch));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::printf("%d products\n", batch);
}
