// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/compare.hpp"
#include "kernels/product.hpp"

#include <cuda_runtime.h>

#include <cmath>

namespace cufault {
namespace {

using shape = product_shape;

constexpr int guard_elements = 256;  // on each side of C; keeps C 256-byte aligned
constexpr int c_elements = shape::ldc * shape::n;

__device__ __align__(256) float a_buffer[shape::lda * shape::k];
__device__ __align__(256) float b_buffer[shape::ldb * shape::n];
__device__ __align__(256) float c_buffer[guard_elements + c_elements + guard_elements];

struct tally {
  unsigned wrong, guards;
  unsigned long long largest_error_bits;  // non-negative doubles order like their bits
};
__device__ tally found;

__device__ bool is_guard(int index) {
  const int inside = index - guard_elements;
  return inside < 0 || inside >= c_elements || inside % shape::ldc >= shape::m;
}

__global__ void fill(std::uint64_t seed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < shape::lda * shape::k) a_buffer[i] = random_element(seed, i);
  if (i < shape::ldb * shape::n) b_buffer[i] = random_element(~seed, i);
  if (i < guard_elements + c_elements + guard_elements) {
    c_buffer[i] = __uint_as_float(is_guard(i) ? guard_bits : poison_bits);
  }
  if (i == 0) found = {};
}

__global__ void multiply() {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= shape::m * shape::n) return;
  const int row = i % shape::m, column = i / shape::m;
  float sum = 0;
  for (int p = 0; p < shape::k; ++p) {
    sum += a_buffer[row + p * shape::lda] * b_buffer[p + column * shape::ldb];
  }
  c_buffer[guard_elements + row + column * shape::ldc] = sum;
}

__global__ void compare() {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= guard_elements + c_elements + guard_elements) return;
  if (is_guard(i)) {
    if (__float_as_uint(c_buffer[i]) != guard_bits) atomicAdd(&found.guards, 1u);
    return;
  }
  const int row = (i - guard_elements) % shape::ldc, column = (i - guard_elements) / shape::ldc;
  double reference = 0, magnitudes = 0;
  for (int p = 0; p < shape::k; ++p) {
    const double term =
        static_cast<double>(a_buffer[row + p * shape::lda]) * b_buffer[p + column * shape::ldb];
    reference += term;
    magnitudes += fabs(term);
  }
  if (!element_right(c_buffer[i], reference, shape::k, magnitudes)) atomicAdd(&found.wrong, 1u);
  double error = fabs(c_buffer[i] - reference) / error_bound(shape::k, magnitudes);
  if (isnan(error)) error = INFINITY;
  atomicMax(&found.largest_error_bits, static_cast<unsigned long long>(__double_as_longlong(error)));
}

__global__ void scale_element(int index, float factor) {
  c_buffer[index] *= factor;
}
__global__ void overwrite(int index) {
  c_buffer[index] = 0;
}

// Not <<<>>>: its error can only be told from one that an earlier call left behind by clearing that, which is
// not ours to clear.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), int threads, Arguments... arguments) {
  constexpr int block = 256;
  cudaLaunchConfig_t shape_of_launch{};
  shape_of_launch.gridDim = (threads + block - 1) / block;
  shape_of_launch.blockDim = block;
  return cudaLaunchKernelEx(&shape_of_launch, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace

cudaError_t prepare_product(std::uint64_t seed, product_operands* operands) {
  void *a = nullptr, *b = nullptr, *c = nullptr;
  if (cudaError_t e = cudaGetSymbolAddress(&a, a_buffer)) return e;
  if (cudaError_t e = cudaGetSymbolAddress(&b, b_buffer)) return e;
  if (cudaError_t e = cudaGetSymbolAddress(&c, c_buffer)) return e;
  *operands = {static_cast<float*>(a), static_cast<float*>(b), static_cast<float*>(c) + guard_elements};
  return launch(fill, guard_elements + c_elements + guard_elements + shape::lda * shape::k, seed);
}

cudaError_t check_product(product_check* result) {
  if (cudaError_t e = launch(compare, guard_elements + c_elements + guard_elements)) return e;
  tally t{};
  if (cudaError_t e = cudaMemcpyFromSymbol(&t, found, sizeof t)) return e;
  *result = {t.wrong, t.guards, 0};
  static_assert(sizeof result->largest_error == sizeof t.largest_error_bits);
  memcpy(&result->largest_error, &t.largest_error_bits, sizeof t.largest_error_bits);
  return cudaSuccess;
}

cudaError_t plain_product() {
  return launch(multiply, shape::m * shape::n);
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
  return launch(scale_element, 1, guard_elements + row + column * shape::ldc, factor);
}

cudaError_t damage_guard(int index_before_c) {
  return launch(overwrite, 1, guard_elements - 1 - index_before_c);
}

}  // namespace cufault
