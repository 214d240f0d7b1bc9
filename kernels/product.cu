// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/compare.hpp"
#include "kernels/launch.cuh"
#include "kernels/product.hpp"

#include <cuda_runtime.h>

#include <cmath>

namespace cufault {
namespace {

constexpr std::size_t guard_elements = 256;  // on each side of C; keeps C 256-byte aligned

/// Offsets of A, B and C with its guards in a block, in elements.
struct layout {
  std::size_t m, n, k, ldc, a_elements, b_elements, c_elements, b, c, end;
};

constexpr layout layout_of(const product_extents& extents) {
  constexpr auto aligned = [](std::size_t elements) { return (elements + 63) / 64 * 64; };
  layout l{};
  l.m = extents.m, l.n = extents.n, l.k = extents.k, l.ldc = extents.ldc();
  l.a_elements = l.m * l.k;
  l.b_elements = l.k * l.n;
  l.c_elements = guard_elements + l.ldc * l.n + guard_elements;
  l.b = aligned(l.a_elements);
  l.c = l.b + aligned(l.b_elements);
  l.end = l.c + aligned(l.c_elements);
  return l;
}

using shape = product_shape;
constexpr layout small = layout_of({shape::m, shape::n, shape::k});
static_assert(small.m == shape::lda && small.k == shape::ldb && small.ldc == shape::ldc);

/// The block of the small product.
__device__ __align__(256) float buffers[small.end];

struct tally {
  unsigned wrong, guards;
  unsigned long long largest_error_bits;  // non-negative doubles are ordered like their bits
};
__device__ tally found;

__device__ bool is_guard(const layout& l, std::size_t index) {
  return index < guard_elements || index >= l.c_elements - guard_elements ||
         (index - guard_elements) % l.ldc >= l.m;
}

/// The value of an operand's element. With whole numbers from -8 to 7, partial sums of up to 2^18 products are exact.
__device__ float element(std::uint64_t seed, std::size_t index, bool whole) {
  const float value = random_element(seed, index);
  return whole ? floorf(8 * value) : value;
}
constexpr int longest_exact = 1 << 18;

__global__ void fill(layout l, float* block, std::uint64_t seed, bool whole) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < l.a_elements) block[i] = element(seed, i, whole);
  if (i < l.b_elements) block[l.b + i] = element(~seed, i, whole);
  if (i < l.c_elements) block[l.c + i] = __uint_as_float(is_guard(l, i) ? guard_bits : poison_bits);
}

__global__ void multiply(layout l, float* block) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= l.m * l.n) return;
  const std::size_t row = i % l.m, column = i / l.m;
  float sum = 0;
  for (std::size_t p = 0; p < l.k; ++p) sum += block[row + p * l.m] * block[l.b + p + column * l.k];
  block[l.c + guard_elements + row + column * l.ldc] = sum;
}

__global__ void clear() {
  found = {};
}

__global__ void compare(layout l, const float* block, bool whole) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= l.c_elements) return;
  const float computed = block[l.c + i];
  if (is_guard(l, i)) {
    if (__float_as_uint(computed) != guard_bits) atomicAdd(&found.guards, 1u);
    return;
  }
  const std::size_t row = (i - guard_elements) % l.ldc, column = (i - guard_elements) / l.ldc;
  double reference = 0, magnitudes = 0;
  for (std::size_t p = 0; p < l.k; ++p) {
    const double term = static_cast<double>(block[row + p * l.m]) * block[l.b + p + column * l.k];
    reference += term;
    magnitudes += fabs(term);
  }
  if (whole) magnitudes = 0;  // no rounding, no error
  const int k = static_cast<int>(l.k);
  if (!element_right(computed, reference, k, magnitudes)) atomicAdd(&found.wrong, 1u);
  double error = fabs(computed - reference);
  if (error != 0) error /= error_bound(k, magnitudes);
  if (isnan(error)) error = INFINITY;
  atomicMax(&found.largest_error_bits, static_cast<unsigned long long>(__double_as_longlong(error)));
}

__global__ void scale_element(float* element, float factor) {
  *element *= factor;
}
__global__ void overwrite(float* element) {
  *element = 0;
}

cudaError_t prepare(const layout& l, float* block, std::uint64_t seed, bool whole, product_operands* operands,
                    cudaStream_t stream) {
  *operands = {block, block + l.b, block + l.c + guard_elements};
  std::size_t count = l.a_elements;
  if (count < l.b_elements) count = l.b_elements;
  if (count < l.c_elements) count = l.c_elements;
  return launch(threads(count, stream), fill, l, block, seed, whole);
}

cudaError_t check(const layout& l, const float* block, bool whole, product_check* result) {
  if (cudaError_t e = launch(threads(1), clear)) return e;
  if (cudaError_t e = launch(threads(l.c_elements), compare, l, block, whole)) return e;
  tally t{};
  if (cudaError_t e = cudaMemcpyFromSymbol(&t, found, sizeof t)) return e;
  *result = {t.wrong, t.guards, 0};
  static_assert(sizeof result->largest_error == sizeof t.largest_error_bits);
  memcpy(&result->largest_error, &t.largest_error_bits, sizeof t.largest_error_bits);
  return cudaSuccess;
}

cudaError_t small_block(float** block) {
  return cudaGetSymbolAddress(reinterpret_cast<void**>(block), buffers);
}

}  // namespace

cudaError_t prepare_product(std::uint64_t seed, product_operands* operands, cudaStream_t stream) {
  float* block = nullptr;
  if (cudaError_t e = small_block(&block)) return e;
  return prepare(small, block, seed, false, operands, stream);
}

cudaError_t check_product(product_check* result) {
  float* block = nullptr;
  if (cudaError_t e = small_block(&block)) return e;
  return check(small, block, false, result);
}

std::size_t product_bytes(const product_extents& extents) {
  return layout_of(extents).end * sizeof(float);
}

cudaError_t prepare_product(const product_extents& extents, void* block, std::uint64_t seed,
                            product_operands* operands, cudaStream_t stream) {
  if (extents.k > longest_exact) return cudaErrorInvalidValue;
  return prepare(layout_of(extents), static_cast<float*>(block), seed, true, operands, stream);
}

cudaError_t check_product(const product_extents& extents, const void* block, product_check* result) {
  return check(layout_of(extents), static_cast<const float*>(block), true, result);
}

cudaError_t plain_product() {
  float* block = nullptr;
  if (cudaError_t e = small_block(&block)) return e;
  return launch(threads(small.m * small.n), multiply, small, block);
}

cudaError_t prove_context(std::uint64_t seed, bool* right) {
  *right = false;
  product_operands operands;
  product_check check;
  if (cudaError_t e = prepare_product(seed, &operands)) return e;
  if (cudaError_t e = plain_product()) return e;
  if (cudaError_t e = check_product(&check)) return e;
  *right = check.right();
  return cudaSuccess;
}

cudaError_t damage_element(int row, int column, float factor) {
  float* block = nullptr;
  if (cudaError_t e = small_block(&block)) return e;
  return launch(threads(1), scale_element, block + small.c + guard_elements + row + column * small.ldc,
                factor);
}

cudaError_t damage_guard(int index_before_c) {
  float* block = nullptr;
  if (cudaError_t e = small_block(&block)) return e;
  return launch(threads(1), overwrite, block + small.c + guard_elements - 1 - index_before_c);
}

}  // namespace cufault
