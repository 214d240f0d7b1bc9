// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>

int main() {
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::printf("driver %d, runtime %d\n", driver, runtime);
  const cudaError_t e = cudaGetDeviceCount(&count);
  std::printf("cudaGetDeviceCount returned %d\n-> %s\n%s\n", e, cudaGetErrorString(e),
              e ? "Result = FAIL" : "Result = PASS");
  return e != cudaSuccess;
}
