// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <cstddef>

namespace cufault {

/// Device memory by cudaMalloc; null for no bytes. Throws setup_failed.
class device_block {
 public:
  explicit device_block(std::size_t bytes) {
    if (bytes > 0) CUFAULT_REQUIRE(cudaMalloc(&address_, bytes));
  }
  ~device_block() { cudaFree(address_); }
  device_block(const device_block&) = delete;
  device_block& operator=(const device_block&) = delete;
  [[nodiscard]] void* address() const { return address_; }
  [[nodiscard]] float* floats(std::size_t offset = 0) const { return static_cast<float*>(address_) + offset; }

 private:
  void* address_ = nullptr;
};

}  // namespace cufault
