// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/memory_readings.hpp"

#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <unistd.h>

#include <fstream>

namespace cufault {

std::size_t free_device_memory() {
  std::size_t free = 0, total = 0;
  CUFAULT_REQUIRE(cudaMemGetInfo(&free, &total));
  return free;
}

std::size_t resident_host_memory() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace cufault
