// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/products.hpp"
#include "kernels/product.hpp"

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cufault/argument_check.hpp"

namespace cufault {

/// Owners of objects that cuBLASLt creates.
template <auto destroy>
struct destroy_by {
  template <class Opaque>
  void operator()(Opaque* p) const {
    destroy(p);
  }
};
using lt_operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, destroy_by<cublasLtMatmulDescDestroy>>;
using lt_layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, destroy_by<cublasLtMatrixLayoutDestroy>>;
using lt_preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, destroy_by<cublasLtMatmulPreferenceDestroy>>;

/// The matrices of a cublasLtMatmul.
struct lt_operands {
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
};

/// Descriptor, layouts and preference of one cublasLtMatmul. Needs a bound pair, but no memory for the operands until multiply().
class lt_problem {
 public:
  static constexpr int most_results = 8;

  /// The product of kernels/product.hpp: C = A B in single precision, column-major, lda = m, ldb = k, ldc = m + 8, in place. Both
  /// constructors throw setup_failed.
  explicit lt_problem(const product_extents& extents = {product_shape::m, product_shape::n,
                                                        product_shape::k});
  /// Any other product: column order, D = C. Ignores pointers in `described`.
  explicit lt_problem(const argument_check::product& described);

  /// For limits other than the workspace's: attributes set here stay.
  [[nodiscard]] cublasLtMatmulPreference_t preference() const { return preference_.get(); }
  /// For other properties of the product: attributes set here stay.
  [[nodiscard]] cublasLtMatmulDesc_t operation() const { return operation_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t a() const { return a_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t b() const { return b_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t c() const { return c_.get(); }
  /// Gives D its own layout, equal to C's original one. Before, cuBLASLt gets C's layout for D.
  cublasLtMatrixLayout_t own_d();

  /// Calls cublasLtMatmulAlgoGetHeuristic for at most `wanted` (1 to most_results) algorithms that need at most `workspace_bytes`. Returns
  /// its status, and in *found the size of results(). Allocates nothing.
  cublasStatus_t heuristic(cublasLtHandle_t lt, std::size_t workspace_bytes = 0, int* found = nullptr,
                           int wanted = most_results);
  /// Results of the last heuristic(), best first; empty if it failed.
  [[nodiscard]] std::span<const cublasLtMatmulHeuristicResult_t> results() const {
    return {results_.data(), static_cast<std::size_t>(found_)};
  }

  /// cublasLtMatmul with the first of results() and scalars 1 and 0, asynchronous on `stream`; NOT_SUPPORTED without a result. The caller
  /// owns the workspace.
  cublasStatus_t multiply(cublasLtHandle_t lt, const product_operands& on_device, void* workspace = nullptr,
                          std::size_t workspace_bytes = 0, cudaStream_t stream = nullptr) const;
  /// cublasLtMatmul with these operands and this algorithm, which may be null. Unchecked.
  cublasStatus_t multiply(cublasLtHandle_t lt, const lt_operands& on_device,
                          const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                          cudaStream_t stream = nullptr) const;
  /// heuristic() for one algorithm, then multiply(). Returns the heuristic's status if it fails, NOT_SUPPORTED if it finds nothing.
  cublasStatus_t multiply_by_first(cublasLtHandle_t lt, const lt_operands& on_device,
                                   void* workspace = nullptr, std::size_t workspace_bytes = 0);

 private:
  [[nodiscard]] cublasLtMatrixLayout_t result() const { return d_ ? d_.get() : c_.get(); }
  cublasStatus_t first(const cublasLtMatmulAlgo_t** algorithm) const;

  argument_check::product described_;
  lt_operation operation_;
  lt_layout a_, b_, c_, d_;
  lt_preference preference_;
  std::array<cublasLtMatmulHeuristicResult_t, most_results> results_{};
  int found_ = 0;
};

/// For set-up: sets an attribute of a problem. The value must have the attribute's type in the header; throws setup_failed.
template <class Value>
void set_attribute(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t which, Value value) {
  CUFAULT_REQUIRE(cublasLtMatmulDescSetAttribute(of, which, &value, sizeof value));
}
template <class Value>
void set_attribute(cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t which, Value value) {
  CUFAULT_REQUIRE(cublasLtMatrixLayoutSetAttribute(of, which, &value, sizeof value));
}
template <class Value>
void set_attribute(cublasLtMatmulPreference_t of, cublasLtMatmulPreferenceAttributes_t which, Value value) {
  CUFAULT_REQUIRE(cublasLtMatmulPreferenceSetAttribute(of, which, &value, sizeof value));
}

/// In bytes, at most 256.
std::uint32_t alignment_of(const void* address);
/// Tells the heuristic the alignment_of() each operand.
void tell_alignment(lt_problem& problem, const lt_operands& of);

/// A handle of each kind, and the workspace that frameworks allocate for cuBLASLt on recent devices. Needs a context; the end of the
/// process releases it.
struct workbench {
  static constexpr std::size_t workspace_bytes = 32 << 20;
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();
  void* workspace = nullptr;
  workbench() { CUFAULT_REQUIRE(cudaMalloc(&workspace, workspace_bytes)); }
};

/// The same product by cublasLtMatmul on the legacy stream, with the heuristic's first algorithm for `workspace_bytes` of the caller.
product_result lt_product(cublasLtHandle_t lt, void* workspace = nullptr, std::size_t workspace_bytes = 0);

}  // namespace cufault
