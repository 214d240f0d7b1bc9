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

/// Owners of what cuBLASLt creates.
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

/// What cublasLtMatmul takes pointers to.
struct lt_operands {
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
};

/// Descriptor, layouts and preference of one cublasLtMatmul. Needs a bound pair, but no memory for the operands until multiply().
class lt_problem {
 public:
  static constexpr int most_results = 8;

  /// The product of kernels/product.hpp: C = A B in single precision, column-major, lda = m, ldb = k, ldc = m + 8, in place.
  /// Throws setup_failed where a descriptor cannot be created; so does the other one.
  explicit lt_problem(const product_extents& extents = {product_shape::m, product_shape::n,
                                                        product_shape::k});
  /// Any other: column order, D as C. Pointers in `described` are not looked at.
  explicit lt_problem(const argument_check::product& described);

  /// For limits beyond the workspace's: attributes set here stay.
  [[nodiscard]] cublasLtMatmulPreference_t preference() const { return preference_.get(); }
  /// For everything else that can be said of a product: attributes set here stay.
  [[nodiscard]] cublasLtMatmulDesc_t operation() const { return operation_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t a() const { return a_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t b() const { return b_.get(); }
  [[nodiscard]] cublasLtMatrixLayout_t c() const { return c_.get(); }
  /// D is C as far as cuBLASLt is told, until this is called: from then on D has a layout of its own, equal to C's as it was made.
  cublasLtMatrixLayout_t own_d();

  /// cublasLtMatmulAlgoGetHeuristic for at most `wanted` (1 to most_results) algorithms that do with
  /// `workspace_bytes`. Returns its status, and in *found how many results() has then. Allocates nothing itself.
  cublasStatus_t heuristic(cublasLtHandle_t lt, std::size_t workspace_bytes = 0, int* found = nullptr,
                           int wanted = most_results);
  /// The last heuristic()'s, best first; none where it failed.
  [[nodiscard]] std::span<const cublasLtMatmulHeuristicResult_t> results() const {
    return {results_.data(), static_cast<std::size_t>(found_)};
  }

  /// cublasLtMatmul with the first of results(), asynchronous on `stream`, of the scalars 1 and 0; NOT_SUPPORTED where there is none.
  /// The caller owns the workspace.
  cublasStatus_t multiply(cublasLtHandle_t lt, const product_operands& on_device, void* workspace = nullptr,
                          std::size_t workspace_bytes = 0, cudaStream_t stream = nullptr) const;
  /// cublasLtMatmul with these operands and this algorithm, which may be null. Nothing is checked here.
  cublasStatus_t multiply(cublasLtHandle_t lt, const lt_operands& on_device,
                          const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                          cudaStream_t stream = nullptr) const;
  /// A heuristic() for one algorithm, and that. The status is the heuristic's where it fails; NOT_SUPPORTED where it finds nothing.
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

/// For set-up: says more of a problem. The value must be of the type that the header gives for the attribute; throws setup_failed.
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

/// In bytes, 256 at most.
std::uint32_t alignment_of(const void* address);
/// Tells the heuristic the alignment_of() each operand.
void tell_alignment(lt_problem& problem, const lt_operands& of);

/// For set-up, as new_handle().
cublasLtHandle_t new_lt_handle();

/// A handle of either kind, and the workspace that frameworks allocate for cuBLASLt on recent devices. Needs a context; the end of the
/// process gives it back.
struct workbench {
  static constexpr std::size_t workspace_bytes = 32 << 20;
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();
  void* workspace = nullptr;
  workbench() { CUFAULT_REQUIRE(cudaMalloc(&workspace, workspace_bytes)); }
};

/// The same product by cublasLtMatmul on the legacy stream, with the first algorithm that the heuristic returns
/// for `workspace_bytes`, which the caller provides.
product_result lt_product(cublasLtHandle_t lt, void* workspace = nullptr, std::size_t workspace_bytes = 0);

}  // namespace cufault
