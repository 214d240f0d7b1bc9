// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>

#include "check.h"

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}

void too_late(int) {
  const char text[] = "watchdog: no progress for 15 s in cublasCreate while a kernel is running, giving up\n";
  _exit(write(2, text, sizeof text - 1) > 0 ? 3 : 4);
}

int main() {
  int* flag;
  CUDA_CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  *flag = 0;
  std::signal(SIGALRM, too_late);
  alarm(15);
  wait_for<<<1, 1>>>(flag);
  std::printf("kernel waits for the host\n");
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  *flag = 1;
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts("done");
}
