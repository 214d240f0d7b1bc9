// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <thread>

__global__ void spin(const volatile int* stop) {
  while (!*stop) {
  }
}

int main() {
  int *stop = nullptr, *seen = nullptr;
  cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped);
  *stop = 0;
  cudaHostGetDevicePointer(&seen, stop, 0);
  spin<<<1, 1>>>(seen);
  std::thread other([] { cudaDeviceSynchronize(); });
  std::thread end([stop] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    *static_cast<volatile int*>(stop) = 1;
  });
  cudaDeviceSynchronize();
  other.join();
  end.join();
  std::puts("well");
}
