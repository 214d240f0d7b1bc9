// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace cufault {

/// All free device memory in blocks of 64 MiB, of which every second one is freed: free memory is fragmented.
class every_second_block {
 public:
  every_second_block() { hold(); }
  ~every_second_block() { release(); }
  every_second_block(const every_second_block&) = delete;
  every_second_block& operator=(const every_second_block&) = delete;
  /// Allocates all free memory except less than one block, then frees every second block. Does nothing if blocks are held already. Throws
  /// not_provoked if fewer than 4 blocks are free. The device is full for a moment, also for other processes.
  void hold() {
    if (!held_.empty()) return;
    constexpr std::size_t bytes = std::size_t{64} << 20;
    std::vector<void*> all;
    for (void* p = nullptr; cudaMalloc(&p, bytes) == cudaSuccess;) all.push_back(p);
    cudaGetLastError();
    if (all.size() < 4) throw not_provoked("there is too little free memory to be in pieces");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 2 == 0) {
        held_.push_back(all[i]);
      } else {
        CUFAULT_REQUIRE(cudaFree(all[i]));
      }
    }
  }
  /// Ignores errors, like the destructor.
  void release() {
    for (void* p : held_) cudaFree(p);
    held_.clear();
  }

 private:
  std::vector<void*> held_;
};

}  // namespace cufault
