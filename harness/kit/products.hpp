// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"
#include "kernels/product.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace cufault {

/// Result of a checked matrix product. As a step: the library's status where it failed, else that of the wait for it, else success and
/// whether the numbers are right.
struct product_result {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaError_t waited = cudaSuccess;
  bool right = false;
  const char* waited_in = "cudaDeviceSynchronize";  ///< the call that a record names for `waited`
  [[nodiscard]] bool ok() const { return status == CUBLAS_STATUS_SUCCESS && waited == cudaSuccess && right; }
};
status_record record_of(const product_result& result);

/// The same, and what else was seen of it.
struct product_with_facts {
  product_result result;
  fact_map facts{};
};
status_record record_of(const product_with_facts& seen);

/// One product by cublasSgemm with the handle, on its stream, on fresh random numbers, checked
/// (kernels/product.hpp). Needs no memory of its own. Does not wait before it calls cublasSgemm.
product_result product(cublasHandle_t handle);

/// cublasSgemm alone, on operands that prepare_product() made before.
cublasStatus_t sgemm(cublasHandle_t handle, const product_operands& on);

/// A product of other extents, in device memory that it allocates: a long k makes cuBLAS split it, which takes a workspace.
class large_product {
 public:
  explicit large_product(const product_extents& extents);  ///< throws setup_failed
  ~large_product();
  large_product(const large_product&) = delete;
  large_product& operator=(const large_product&) = delete;
  /// Fresh numbers, then cublasSgemm, both on the handle's stream, and back at once. Returns cublasSgemm's status.
  cublasStatus_t start(cublasHandle_t handle);
  /// Waits for the device, then checks what start() computed.
  product_result finish();
  product_result multiply(cublasHandle_t handle);  ///< start and finish
  [[nodiscard]] std::size_t bytes() const { return product_bytes(extents_); }

 private:
  product_extents extents_;
  void* block_ = nullptr;
  product_result result_;
};

/// For set-up. The end of the process gives it back: many arms leave a context in which nothing can be freed.
cublasHandle_t new_handle();

/// The work that most remedies have to make possible again: observes a cublasCreate, a product by the new handle, and its
/// cublasDestroy. Returns what cublasCreate returned.
cublasStatus_t create_and_multiply();

/// The body of controls without a GPU: both libraries are asked for their version.
void libraries_answer(trial& t);

}  // namespace cufault
