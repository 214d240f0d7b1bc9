// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

struct Layer {
  cublasHandle_t handle = nullptr;
  Layer() { CUBLAS_CHECK(cublasCreate(&handle)); }
  ~Layer() { cublasDestroy(handle); }
  void forward(const float* x, float* y) {
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, x, 64, x, 64, &zero, y, 64));
  }
};

int main() {
  float *x, *y;
  CUDA_CHECK(cudaMalloc(&x, 64 * 64 * 4));
  CUDA_CHECK(cudaMalloc(&y, 64 * 64 * 4));
  Layer first;
  first.forward(x, y);
  {
    Layer second = first;
    second.forward(x, y);
  }
  first.forward(x, y);
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
