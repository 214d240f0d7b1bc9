// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "check.h"

int main() {
  const char* named = std::getenv("GPU");
  const int gpu = named ? std::atoi(named) : 0;
  std::printf("using GPU %d\n", gpu);
  CUDA_CHECK(cudaSetDevice(gpu));
  void* x;
  CUDA_CHECK(cudaMalloc(&x, 1024));
  std::puts("ready");
}
