// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  for (const std::size_t mebibytes : {1024, 4096, 16777216}) {
    float* field = nullptr;
    std::printf("grid of %zu MiB\n", mebibytes);
    CUDA_CHECK(cudaMalloc(&field, mebibytes << 20));
    CUDA_CHECK(cudaMemset(field, 0, 1 << 20));
  }
}
