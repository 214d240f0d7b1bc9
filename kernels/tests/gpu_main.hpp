// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace cufault {

/// main() of tests that need a GPU: without one returns 77 after a message.
inline int gpu_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&devices); e != cudaSuccess || devices == 0) {
    std::printf("skipped: no usable GPU (%s)\n", e == cudaSuccess ? "none found" : cudaGetErrorString(e));
    return 77;
  }
  return RUN_ALL_TESTS();
}

}  // namespace cufault
