// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace cufault {

/// All device memory in blocks, of which every second one was freed: what is free lies in pieces. Throws not_provoked where there is too
/// little.
class every_second_block {
 public:
  every_second_block() { hold(); }
  ~every_second_block() { release(); }
  every_second_block(const every_second_block&) = delete;
  every_second_block& operator=(const every_second_block&) = delete;
  /// Does nothing where they are held already.
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
  void release() {
    for (void* p : held_) cudaFree(p);
    held_.clear();
  }

 private:
  std::vector<void*> held_;
};

}  // namespace cufault
