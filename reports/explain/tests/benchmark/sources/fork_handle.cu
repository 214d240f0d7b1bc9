// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main() {
  const int k = 1 << 18;
  float *a, *c;
  CUDA_CHECK(cudaMalloc(&a, sizeof(float) * 32 * k));
  CUDA_CHECK(cudaMalloc(&c, sizeof(float) * 32 * 32));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  std::printf("parent: handle created\n");
  std::fflush(stdout);
  if (fork() == 0) {
    std::printf("worker: multiplying\n");
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 32, k, &one, a, k, a, k, &zero, c, 32));
    CUDA_CHECK(cudaDeviceSynchronize());
    _exit(0);
  }
  int status = 0;
  wait(&status);
  std::printf("parent: worker ended with %d\n", WEXITSTATUS(status));
  return WEXITSTATUS(status);
}
