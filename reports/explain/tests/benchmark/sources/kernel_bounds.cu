// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void transpose(const float* in, float* out, long n) {
  const long x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[x * n * n + y] = in[y * n + x];
}

int main() {
  const int n = 2048;
  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, sizeof(float) * n * n));
  CUDA_CHECK(cudaMalloc(&out, sizeof(float) * n * n));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  transpose<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(in, out, n);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, out, n, out, n, &zero, in, n);
  float corner = 0;
  CUBLAS_CHECK(cublasGetVector(1, sizeof(float), in, 1, &corner, 1));
  std::printf("corner %f\n", corner);
}
