// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/elements.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/trial.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "cufault/argument_check.hpp"

namespace cufault {

/// cublasGemmEx as described, or cublasGemmStridedBatchedEx for a batch; with 64-bit extents for entry::cublas_64. Writes to `c`, whatever
/// `described` says; truncates numbers that an int cannot hold.
cublasStatus_t gemm_ex(cublasHandle_t handle, const argument_check::product& described, void* c);
/// The same by cublasSgemm; ignores types and batch.
cublasStatus_t sgemm(cublasHandle_t handle, const argument_check::product& described, void* c);

/// Waits for the device, then asks `right` whether the numbers are right, unless `status` is an error or the wait failed. If `right` throws
/// unreadable, the result names the failed copy.
template <class Right>
product_result proved(cublasStatus_t status, const Right& right) {
  product_result result{.status = status, .waited = cudaDeviceSynchronize()};
  if (status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
  try {
    result.right = right();
  } catch (const unreadable& e) {
    result.waited = e.status();
    result.waited_in = "cudaMemcpy";
  }
  return result;
}

/// Waits, and compares an array with its expected elements.
product_result compared(cublasStatus_t status, const guarded_array& array, std::span<const double> expected);

/// A product with any types, shapes, strides and alignment that argument_check can describe, with its own operands. These are small whole
/// numbers, so that the result is exact in any order of sums. C is poisoned and guarded. Right means: every element of C exact, nothing
/// else written.
class checked_product {
 public:
  struct options {
    std::array<std::size_t, 3> off_by{};  ///< bytes that A, B and C lie off 256 bytes' alignment
    double alpha = 1, beta = 0;           ///< with a beta of 0, C is NaN before
  };
  /// Fills in pointers of `described`, the smallest legal leading dimension for 0, and the smallest stride without overlap for 0 in a
  /// batch. Allocates what extents, leading dimensions and strides need. Throws setup_failed.
  explicit checked_product(argument_check::product described) : checked_product(described, options{}) {}
  checked_product(argument_check::product described, const options& how);
  ~checked_product() = default;
  checked_product(const checked_product&) = delete;  // described() points into this object
  checked_product& operator=(const checked_product&) = delete;

  /// The description with data, alpha and beta, for a check before the call.
  [[nodiscard]] const argument_check::product& described() const { return described_; }

  product_result by_gemm_ex(cublasHandle_t handle);
  /// cublasLtMatmul with the heuristic's first algorithm for the caller's workspace. Returns the heuristic's status if it fails,
  /// NOT_SUPPORTED if it finds nothing. `problem`: made from described() and changed; null: made here.
  product_result by_lt(cublasLtHandle_t lt, void* workspace = nullptr, std::size_t workspace_bytes = 0,
                       lt_problem* problem = nullptr);
  /// Any other call that computes the product, on the legacy stream.
  template <class Call>
  product_result by(Call&& call) {
    reset();
    return finish(call());
  }

  guarded_array a, b, c;
  /// Operands with D = C.
  [[nodiscard]] lt_operands operands() const {
    return {alpha(), a.data(), b.data(), beta(), c.data(), c.data()};
  }
  /// Alpha and beta in the described scalar type, aligned to 16 bytes, in host memory.
  [[nodiscard]] const void* alpha() const { return alpha_.data(); }
  [[nodiscard]] const void* beta() const { return beta_.data(); }

  /// New numbers in A and B; restores C.
  void reset();
  /// Waits, and compares C with the exact result; `wrong()` then has the elements that differ.
  product_result finish(cublasStatus_t status);
  [[nodiscard]] const std::vector<std::size_t>& wrong() const { return wrong_; }

 private:
  struct sized;  // completed description with sizes of operands
  checked_product(const sized& all, const options& how);
  argument_check::product described_;
  double alpha_number_, beta_number_;
  alignas(16) std::array<std::byte, 16> alpha_{}, beta_{};
  std::vector<double> expected_;
  std::vector<std::size_t> wrong_;
};

}  // namespace cufault
