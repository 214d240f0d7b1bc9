// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>

void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

__global__ void add(const float4* in, float4* out) {
  const float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

int main() {
  float *in, *out;
  check(cudaMalloc(&in, 4100), "cudaMalloc");
  check(cudaMalloc(&out, 4096), "cudaMalloc");
  add<<<1, 256>>>(reinterpret_cast<float4*>(in + 1), reinterpret_cast<float4*>(out));
  check(cudaGetLastError(), "add");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::puts("done");
}
