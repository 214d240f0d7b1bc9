// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cufault::operations {

/// Floats in pinned host memory, to and from which copies are asynchronous.
class pinned_array {
 public:
  explicit pinned_array(std::size_t count) : count_(count) {
    void* block = nullptr;
    CUFAULT_REQUIRE(cudaHostAlloc(&block, count * sizeof(float), cudaHostAllocDefault));
    block_.reset(static_cast<float*>(block));
  }
  [[nodiscard]] float* data() const { return block_.get(); }
  void put(const std::vector<double>& numbers) {
    std::transform(numbers.begin(), numbers.end(), data(), [](double x) { return static_cast<float>(x); });
  }
  [[nodiscard]] bool holds(const std::vector<double>& numbers) const {
    return std::equal(numbers.begin(), numbers.end(), data(), data() + count_,
                      [](double x, float y) { return static_cast<float>(x) == y; });
  }

 private:
  std::size_t count_;
  std::unique_ptr<float, destroy_by<cudaFreeHost>> block_;
};

}  // namespace cufault::operations
