// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  const std::size_t bytes = std::size_t(8) << 40;
  void* staging = nullptr;
  std::printf("staging buffer: %zu GiB\n", bytes >> 30);
  CUDA_CHECK(cudaMallocHost(&staging, bytes));
  void* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, 1 << 20));
  CUDA_CHECK(cudaMemcpyAsync(device, staging, 1 << 20, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());
}
