// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

static cublasHandle_t handle;

void initialise(bool use_gpu) {
  if (use_gpu) cublasCreate(&handle);
}

int main(int argc, char**) {
  initialise(argc > 1);
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 1 << 16));
  const float two = 2;
  CUBLAS_CHECK(cublasSscal(handle, 1000, &two, x, 1));
  std::puts("scaled");
}
