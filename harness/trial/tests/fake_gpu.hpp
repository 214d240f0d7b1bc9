// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>

/// Answers of the CUDA runtime and of cufault's product in a program that links fake_gpu.cpp.
namespace cufault::fake_gpu {

struct state {
  cudaError_t of_initialisation =
      cudaSuccess;  ///< every call returns it where the runtime finds no driver or no GPU
  cudaError_t last_error = cudaSuccess;
  cudaError_t of_synchronisation = cudaSuccess;
  cudaError_t of_product = cudaSuccess;
  bool product_is_right = true;
  bool has_pools = true;  ///< else the driver refuses every question about memory pools
  int device = 0;
  std::size_t memory = std::size_t{80} << 30, used_memory = std::size_t{1} << 30;
  std::uint64_t used_by_pool = 0, used_by_graphs = 0;
  std::function<void()> pending;  ///< what the GPU has done when a synchronisation returns
};

state& current();

}  // namespace cufault::fake_gpu
