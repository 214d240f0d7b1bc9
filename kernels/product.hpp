// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace cufault {

/// A small single-precision product C = A B in column-major order, checked on the device. A is m x k, B is k x n, C is m x n inside a
/// larger array of guards. No two extents are equal and ldc > m, so that a swapped operand or wrong leading dimension shows. Buffers are
/// static device memory: nothing is allocated (it works on a full device) or freed, and a context after a reset has new ones.
struct product_shape {
  static constexpr int m = 96, n = 80, k = 112;
  static constexpr int lda = m, ldb = k, ldc = m + 8;
};

/// Device addresses of the operands, valid in the current context.
struct product_operands {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

/// Result of the checking kernel.
struct product_check {
  unsigned wrong_elements = 0;  ///< elements of C outside the error bound; unwritten ones count
  unsigned broken_guards = 0;   ///< elements round C that were overwritten
  double largest_error =
      0;  ///< largest |C - reference| over its bound; above 1 is wrong. NaN counts as infinite
  [[nodiscard]] bool right() const { return wrong_elements == 0 && broken_guards == 0; }
};

/// Fills A and B with random numbers from `seed`, poisons C and sets its guards. Asynchronous on `stream`.
cudaError_t prepare_product(std::uint64_t seed, product_operands* operands, cudaStream_t stream = nullptr);

/// Compares C with a float64 product of A and B on the device, in the legacy stream; waits for it.
cudaError_t check_product(product_check* result);

/// The same with extents and memory of the caller: lda = m, ldb = k, ldc = m + 8. The error bound grows with k and could hide a missing
/// partial sum. So A and B are small whole numbers, whose sums are exact in any order, and C must be exactly right. k is at most 2^18.
struct product_extents {
  int m = 0, n = 0, k = 0;
  [[nodiscard]] constexpr int ldc() const { return m + 8; }
};
/// Bytes of the block that holds A, B and C with its guards, each 256-byte aligned.
std::size_t product_bytes(const product_extents& extents);
/// `block`: device memory of product_bytes(extents), 256-byte aligned.
cudaError_t prepare_product(const product_extents& extents, void* block, std::uint64_t seed,
                            product_operands* operands, cudaStream_t stream = nullptr);
cudaError_t check_product(const product_extents& extents, const void* block, product_check* result);

/// Fills C by a plain kernel of cufault: proves the context usable, and loads every kernel here before memory runs short.
cudaError_t plain_product();

/// Prepares, multiplies plainly and checks: cudaSuccess and *right tell whether the current context computes right numbers.
cudaError_t prove_context(std::uint64_t seed, bool* right);

/// For tests of the check: multiplies one element of C by a factor, or damages one guard.
cudaError_t damage_element(int row, int column, float factor);
cudaError_t damage_guard(int index_before_c);

}  // namespace cufault
