// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include "check.h"

int main() {
  const int k = 1 << 18;
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUdevice device;
  CUcontext context;
  cuDeviceGet(&device, 0);
  if (cuCtxCreate(&context, nullptr, 0, device) != CUDA_SUCCESS) return 2;
  float *a, *c;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * 32 * k));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 32 * 32));
  const float one = 1, zero = 0;
  std::printf("plugin: multiplying in its own context\n");
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 32, k, &one, a, k, a, k, &zero, c, 32));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
