// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

struct Context {
  cublasHandle_t handle = nullptr;
  ~Context() {
    CUDA_CHECK(cudaDeviceSynchronize());
    CUBLAS_CHECK(cublasDestroy(handle));
    std::puts("context destroyed");
  }
};

static Context context;

int main() {
  CUBLAS_CHECK(cublasCreate(&context.handle));
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1024));
  const float two = 2;
  CUBLAS_CHECK(cublasSscal(context.handle, 256, &two, x, 1));
  std::atexit([] { cudaDeviceReset(); });
  std::puts("main ends");
}
