// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by nvidia_libraries_test.cpp with the CUDA runtime between a program and the driver: this program links a runtime statically.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using alloc = int(std::uint64_t*, std::size_t);

/// Result of an allocation by the function that the runtime returned.
void say(const char* way, cudaError_t asked, void* function) {
  std::uint64_t address = 0;
  if (asked != cudaSuccess || function == nullptr)
    std::printf("%s: %s\n", way, cudaGetErrorName(asked));
  else
    std::printf("%s: %d\n", way, reinterpret_cast<alloc*>(function)(&address, 1 << 20));
}

int entry_points() {
  if (const cudaError_t started = cudaFree(nullptr); started != cudaSuccess) {
    std::printf("no runtime: %s\n", cudaGetErrorName(started));
    return 0;
  }
#ifdef HAVE_cudaGetDriverEntryPoint
  {
    void* function = nullptr;
    const auto asked = cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, nullptr);
    say("cudaGetDriverEntryPoint", asked, function);
  }
#endif
#ifdef HAVE_cudaGetDriverEntryPointByVersion
  {
    void* function = nullptr;
    const auto asked =
        cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, nullptr);
    say("cudaGetDriverEntryPointByVersion", asked, function);
  }
#endif
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "entry_points") == 0) return entry_points();
  int version = 0;
  const auto asked = cudaDriverGetVersion(&version);
  std::printf("%s %d\n", cudaGetErrorName(asked), version);
  return 0;
}
