// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/operations.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cufault::operations {

/// Some products, and arrays of pointers to their operands in device memory.
class batched_product : public by_handle {
 public:
  explicit batched_product(const argument_check::product& one = usual_product()) : products(some(one)) {
    const argument_check::product& d = products.described();
    std::vector<std::byte*> all;
    const auto add = [&](const guarded_array& from, const argument_check::matrix& of) {
      const std::int64_t bytes = of.stride * argument_check::detail::element_size(of.type);
      for (int i = 0; i < count; ++i) all.push_back(static_cast<std::byte*>(from.data()) + i * bytes);
    };
    add(products.a, d.a);
    add(products.b, d.b);
    add(products.c, d.c);
    pointers_ = new_memory(all.size() * sizeof(void*));
    CUFAULT_REQUIRE(cudaMemcpy(pointers_.get(), all.data(), all.size() * sizeof(void*), cudaMemcpyDefault));
  }
  void prepare() override { products.reset(); }
  product_result check() override { return products.finish(CUBLAS_STATUS_SUCCESS); }

 protected:
  static constexpr int count = 3;
  /// Of operand 0, 1 or 2.
  template <class Element = float>
  [[nodiscard]] Element** pointers(int operand) const {
    return static_cast<Element**>(pointers_.get()) + operand * count;
  }
  static int narrow(std::int64_t x) { return static_cast<int>(x); }

  checked_product products;

 private:
  static argument_check::product some(argument_check::product p) {
    p.batch = count;
    return p;
  }
  owned_memory pointers_;
};

}  // namespace cufault::operations
