// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/operations.hpp"
#include "kernels/faults.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cufault::operations {

/// Memory from the runtime that a kernel can write; nothing is held between one make() and the next, so that it can be made again on a
/// full device.
class runtime_memory final : public without_handle {
 public:
  struct functions {
    cudaError_t (*allocate)(void** to, std::size_t bytes);
    cudaError_t (*release)(void* block);
  };
  runtime_memory(const functions& by, std::size_t bytes) : by_(by), read_back_(bytes / sizeof(float)) {}
  ~runtime_memory() override { release(); }
  runtime_memory(const runtime_memory&) = delete;
  runtime_memory& operator=(const runtime_memory&) = delete;

  void load_for_check() override { CUFAULT_REQUIRE(load_faults()); }
  void prepare() override { release(); }
  status_record make() override {
    return record_of(by_.allocate(&block_, read_back_.size() * sizeof(float)));
  }
  /// A kernel fills it, and it is read back.
  product_result check() override {
    constexpr float value = 42;
    std::fill(read_back_.begin(), read_back_.end(), 0.0F);
    product_result result{.waited =
                              launch_fill(static_cast<float*>(block_), read_back_.size(), value, nullptr)};
    if (result.waited == cudaSuccess) result.waited = cudaDeviceSynchronize();
    if (result.waited == cudaSuccess)
      result.waited =
          cudaMemcpy(read_back_.data(), block_, read_back_.size() * sizeof(float), cudaMemcpyDefault);
    result.right = result.waited == cudaSuccess && std::all_of(read_back_.begin(), read_back_.end(),
                                                               [&](float each) { return each == value; });
    release();
    return result;
  }

 private:
  void release() {
    if (block_ != nullptr) by_.release(block_);
    block_ = nullptr;
  }
  functions by_;
  void* block_ = nullptr;
  std::vector<float> read_back_;
};

inline make_operation fresh_memory(const runtime_memory::functions& by, std::size_t bytes) {
  return [=] { return std::make_unique<runtime_memory>(by, bytes); };
}

inline const runtime_memory::functions by_cuda_malloc{
    .allocate = [](void** to, std::size_t bytes) { return cudaMalloc(to, bytes); }, .release = cudaFree};

}  // namespace cufault::operations
