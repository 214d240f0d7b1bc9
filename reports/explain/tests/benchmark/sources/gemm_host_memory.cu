// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.h"

int main() {
  std::vector<float> a(256 * 256, 1.0F), b(256 * 256, 2.0F);
  float* c;
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 256 * 256));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, a.data(), 256, b.data(),
                           256, &zero, c, 256));
  CUDA_CHECK(cudaMemcpy(a.data(), c, sizeof(float) * a.size(), cudaMemcpyDeviceToHost));
  std::printf("%f\n", a[0]);
}
