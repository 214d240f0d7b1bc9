// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/device_block.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/product.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace cufault {

/// Result of a checked matrix product. As a step: the library's status if it failed, else that of the wait, else success and whether the
/// numbers are right.
struct product_result {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaError_t waited = cudaSuccess;
  bool right = false;
  const char* waited_in = "cudaDeviceSynchronize";  ///< the call that a record names for `waited`
  [[nodiscard]] bool ok() const { return status == CUBLAS_STATUS_SUCCESS && waited == cudaSuccess && right; }
};
status_record record_of(const product_result& result);

/// The same with further facts.
struct product_with_facts {
  product_result result;
  fact_map facts{};
};
status_record record_of(const product_with_facts& seen);

/// One product by cublasSgemm with this handle and its stream, on new random numbers, checked (kernels/product.hpp). Allocates no memory.
/// Does not wait before cublasSgemm.
product_result product(cublasHandle_t handle);

/// cublasSgemm alone, on operands of prepare_product().
cublasStatus_t sgemm(cublasHandle_t handle, const product_operands& on);
cublasStatus_t sgemm(cublasHandle_t handle, const product_extents& extents, const product_operands& on);

/// Waits for the device and checks the numbers of prepare_product(), unless what was `started` failed.
product_result checked(product_result started);
product_result checked(product_result started, const product_extents& extents, const void* block);

/// A product of other extents in device memory that it allocates: cuBLAS splits a long k, which needs a workspace.
class large_product {
 public:
  explicit large_product(const product_extents& extents)  ///< throws setup_failed
      : extents_(extents), block_(product_bytes(extents)) {}
  /// Starts new numbers and cublasSgemm on the handle's stream, without waiting. Returns cublasSgemm's status.
  cublasStatus_t start(cublasHandle_t handle);
  /// Waits for the device, then checks the result.
  product_result finish();
  product_result multiply(cublasHandle_t handle);  ///< start and finish
  [[nodiscard]] std::size_t bytes() const { return product_bytes(extents_); }

 private:
  product_extents extents_;
  device_block block_;
  product_result result_;
};

/// For set-up. Only the end of the process releases them: many arms leave a context in which nothing can be freed.
cublasHandle_t new_handle();
cublasLtHandle_t new_lt_handle();
cudaStream_t new_stream();  ///< does not synchronise with the legacy stream
/// The same in the trial's context, which they open.
cublasHandle_t handle_in_context(trial& t);
cublasLtHandle_t lt_handle_in_context(trial& t);

/// Opens the trial's context and loads the kernels of kernels/faults.hpp.
void context_with_faults(trial& t);

/// What cublasCreate and cublasLtCreate, which are observed, gave. Null where they fail.
cublasHandle_t observed_handle();
cublasLtHandle_t observed_lt_handle();

/// The work that most remedies must make possible again: observes cublasCreate, a product by the new handle, and cublasDestroy. Returns the
/// status of cublasCreate.
cublasStatus_t create_and_multiply();

/// Body of controls without a GPU: asks both libraries for their version.
void libraries_answer(trial& t);

}  // namespace cufault
