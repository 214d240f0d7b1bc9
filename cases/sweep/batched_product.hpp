// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/sweep/operations.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace cufault::sweeping {

/// Some products, and arrays of pointers to their operands in device memory.
class batched_product : public by_handle {
 public:
  batched_product() {
    const argument_check::product& d = product_.described();
    std::vector<float*> all;
    const auto add = [&](const guarded_array& from, std::int64_t stride) {
      for (int i = 0; i < count; ++i) all.push_back(static_cast<float*>(from.data()) + i * stride);
    };
    add(product_.a, d.a.stride);
    add(product_.b, d.b.stride);
    add(product_.c, d.c.stride);
    require(cudaMalloc(&pointers_, all.size() * sizeof(float*)));
    require(cudaMemcpy(pointers_, all.data(), all.size() * sizeof(float*), cudaMemcpyDefault));
  }
  ~batched_product() override { cudaFree(pointers_); }
  void prepare() override { product_.reset(); }
  product_result check() override { return product_.finish(CUBLAS_STATUS_SUCCESS); }

 protected:
  static constexpr int count = 3;
  /// Of operand 0, 1 or 2.
  [[nodiscard]] float** pointers(int operand) const {
    return static_cast<float**>(pointers_) + operand * count;
  }

  checked_product product_{described()};

 private:
  static argument_check::product described() {
    argument_check::product p = usual_product();
    p.batch = count;
    return p;
  }
  void* pointers_ = nullptr;
};

}  // namespace cufault::sweeping
