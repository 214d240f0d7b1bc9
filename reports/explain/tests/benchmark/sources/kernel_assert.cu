// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "check.h"

__global__ void lookup(const float* table, const int* index, float* out, int rows) {
  const int row = index[threadIdx.x];
  assert(row >= 0 && row < rows);
  out[threadIdx.x] = table[row];
}

int main() {
  float *table, *out;
  int host[64], *index;
  for (int i = 0; i < 64; ++i) host[i] = i * 20;
  CUDA_CHECK(cudaMalloc(&table, 1000 * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, sizeof host));
  CUDA_CHECK(cudaMalloc(&index, sizeof host));
  CUDA_CHECK(cudaMemcpy(index, host, sizeof host, cudaMemcpyHostToDevice));
  lookup<<<1, 64>>>(table, index, out, 1000);
  CUDA_CHECK(cudaGetLastError());
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
