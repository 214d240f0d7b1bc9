// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/captured_stream.hpp"
#include "kernels/product.hpp"

#include <cuda_runtime.h>

namespace cufault::operations {

/// A product on a stream of its own, with a workspace of its own, and a graph of it.
class captured_product : public by_handle {
 public:
  captured_product() {
    CUFAULT_REQUIRE(cublasSetStream(handle(), stream.get()));
    CUFAULT_REQUIRE(cublasSetWorkspace(handle(), workspace_.get(), workspace_bytes));
    // The first product of a process loads its kernel, which is not what a capture is about.
    refresh();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream.wait());
  }
  ~captured_product() override {
    stream.end();
    cublasSetStream(handle(), nullptr);
  }
  captured_product(const captured_product&) = delete;
  captured_product& operator=(const captured_product&) = delete;

 protected:
  void refresh() {
    CUFAULT_REQUIRE(prepare_product(extents, block_.get(), fresh_seed(), &on_, stream.get()));
    CUFAULT_REQUIRE(stream.wait());
  }
  cublasStatus_t multiply_on_stream() {
    const auto& [m, n, k] = extents;
    const float one = 1, zero = 0;
    return cublasSgemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_.a, m, on_.b, k, &zero, on_.c,
                       extents.ldc());
  }
  void capture() {
    stream.begin();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream.instantiate().waited);
  }
  product_result checked() {
    product_result result{.waited = stream.wait()};
    product_check found;
    if (result.waited == cudaSuccess) result.waited = check_product(extents, block_.get(), &found);
    result.right = result.waited == cudaSuccess && found.right();
    return result;
  }
  product_result replayed() {
    const cudaError_t launched = stream.launch();
    return launched == cudaSuccess ? checked() : product_result{.waited = launched};
  }

  captured_stream stream;

 private:
  static constexpr product_extents extents{
      .m = product_shape::m, .n = product_shape::n, .k = product_shape::k};
  static constexpr std::size_t workspace_bytes = 32 << 20;
  owned_memory block_ = new_memory(product_bytes(extents)), workspace_ = new_memory(workspace_bytes);
  product_operands on_{};
};

}  // namespace cufault::operations
