// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main() {
  CUDA_CHECK(cudaFree(nullptr));
  for (int worker = 0; worker < 2; ++worker)
    if (fork() == 0) {
      float* batch;
      CUDA_CHECK(cudaMalloc(&batch, 1 << 20));
      std::printf("worker %d has its batch\n", worker);
      _exit(0);
    }
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed += status != 0;
  std::printf("%d workers failed\n", failed);
  return failed;
}
