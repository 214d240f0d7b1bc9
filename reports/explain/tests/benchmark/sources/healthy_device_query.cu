// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  cudaDeviceProp p;
  CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
  int driver = 0, runtime = 0;
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  std::printf("Device 0: \"%s\"\n  CUDA Driver Version / Runtime Version          %d.%d / %d.%d\n", p.name,
              driver / 1000, driver % 100 / 10, runtime / 1000, runtime % 100 / 10);
  std::printf("  CUDA Capability Major/Minor version number:    %d.%d\n", p.major, p.minor);
  std::printf("  Total amount of global memory:                 %zu MBytes (%zu bytes)\n",
              p.totalGlobalMem >> 20, p.totalGlobalMem);
  std::printf("  (%03d) Multiprocessors\n  L2 Cache Size:                                 %d bytes\n",
              p.multiProcessorCount, p.l2CacheSize);
  std::printf("  Total amount of shared memory per block:       %zu bytes\n", p.sharedMemPerBlock);
  std::printf("  Maximum number of threads per block:           %d\n", p.maxThreadsPerBlock);
  std::printf("  Device has ECC support:                        %s\n", p.ECCEnabled ? "Enabled" : "Disabled");
  std::puts("deviceQuery, CUDA Driver = CUDART, NumDevs = 1\nResult = PASS");
}
