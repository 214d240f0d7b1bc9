// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product whose k, or whose index into an operand, does not match what the buffers hold.
// Why          cuBLAS gets addresses and leading dimensions, never sizes. It uses any k that no leading dimension contradicts. Memory is
//              mapped in granules, so a read beyond a buffer may or may not find something.
// Documented   cuBLAS documentation, cublas<t>gemm(): which leading dimensions are checked. Source documents
//              say that shapes which do not conform cause an illegal memory access. llm.c#212: buffers too
//              short, found by a memory checker only.
// Measured     SUCCESS, with wrong numbers or, where zeros lie behind, with right ones; an illegal address only
//              far beyond what is mapped.
// What helps   Recommended: the right k; comparing shapes on the host before the call. A memory checker
//              (compute-sanitizer), to find it: not measured yet.
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/compare.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace cufault {
namespace {

/// C = A B' by a program whose buffers are pieces of one block, as from a caching allocator. A is m x k, B is n x k: B is transposed, so no
/// leading dimension limits k. Other data follows both.
class operands {
 public:
  static constexpr int m = 64, n = 48, k = 80;
  static constexpr int other_columns = 16;

  /// `behind`: value of the other data.
  explicit operands(float behind) : a_(filled(m, behind)), b_(filled(n, behind)) {
    float* block = nullptr;
    CUFAULT_REQUIRE(cudaMalloc(&block, bytes()));
    a = block;
    b = a + a_.size();
    c = block + a_.size() + b_.size();
    CUFAULT_REQUIRE(cudaMemcpy(block, a_.data(), a_.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUFAULT_REQUIRE(
        cudaMemcpy(block + a_.size(), b_.data(), b_.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUFAULT_REQUIRE(cudaMemset(c, 0xff, c_elements * sizeof(float)));  // NaN: an unwritten element is wrong
  }

  [[nodiscard]] std::size_t bytes() const { return (a_.size() + b_.size() + c_elements) * sizeof(float); }

  [[nodiscard]] bool right() const {
    std::vector<float> computed(c_elements);
    CUFAULT_REQUIRE(cudaMemcpy(computed.data(), c, c_elements * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < c_elements; ++i) {
      double reference = 0, magnitudes = 0;
      for (int p = 0; p < k; ++p) {
        const double term = static_cast<double>(a_[i % m + p * m]) * b_[i / m + p * n];
        reference += term;
        magnitudes += std::abs(term);
      }
      if (!element_right(computed[i], reference, k, magnitudes)) return false;
    }
    return true;
  }

  const float *a = nullptr, *b = nullptr;
  float* c = nullptr;

 private:
  static constexpr int c_elements = m * n;
  static std::vector<float> filled(int rows, float behind) {
    std::vector<float> values(static_cast<std::size_t>(rows) * (k + other_columns), behind);
    const std::uint64_t seed = fresh_seed();
    for (int i = 0; i < rows * k; ++i) values[i] = random_element(seed, i);
    return values;
  }
  std::vector<float> a_, b_;
};

constexpr float stale = 1;
constexpr int too_many_columns = operands::k + operands::other_columns;
/// Gigabytes of columns: more than a trial has mapped.
constexpr int columns_without_end = 1 << 24;

/// Uses `columns` columns of A and B, from `first` on.
cublasStatus_t multiply(cublasHandle_t handle, const operands& in, int columns, int first = 0) {
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, in.m, in.n, columns, &one, in.a + first * in.m, in.m,
                     in.b, in.n, &zero, in.c, in.m);
}

/// Waits, then checks that C is the intended product.
product_result numbers(const operands& in) {
  product_result result;
  result.waited = cudaDeviceSynchronize();
  if (result.waited == cudaSuccess) result.right = in.right();
  return result;
}

cublasHandle_t open(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  return handle;
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  CUFAULT_OBSERVE_AS("cublasSgemm", "b_transposed_unchecked", multiply(handle, in, operands::k));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
}

// ---- faults ----

void too_long(const operands& in, cublasHandle_t handle, int columns) {
  CUFAULT_OBSERVE_AS("cublasSgemm", "k_too_long_unchecked", multiply(handle, in, columns));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
}

void other_data_behind(trial& t) {
  const cublasHandle_t handle = open(t);
  too_long(operands(stale), handle, too_many_columns);
}

/// Like a test that starts with new, zeroed memory.
void zeros_behind(trial& t) {
  const cublasHandle_t handle = open(t);
  too_long(operands(0), handle, too_many_columns);
}

void past_the_allocation(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  constexpr int columns = 4 * operands::k;
  const std::uint64_t in_granule = reinterpret_cast<std::uintptr_t>(in.a) % 2_MiB;
  const std::uint64_t end =
      reinterpret_cast<std::uintptr_t>(in.b + columns * operands::n) - reinterpret_cast<std::uintptr_t>(in.a);
  if (end <= in.bytes() || in_granule + end > 2_MiB)
    throw not_provoked("the block lies at the end of its granule: nothing mapped is behind it");
  too_long(in, handle, columns);
}

void far_beyond(trial& t) {
  const cublasHandle_t handle = open(t);
  too_long(operands(stale), handle, columns_without_end);
}

/// With an untransposed B, the leading dimension contradicts the k.
void contradicted(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  const float one = 1, zero = 0;
  CUFAULT_OBSERVE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, in.m, in.n, too_many_columns, &one, in.a,
                              in.m, in.b, in.k, &zero, in.c, in.m));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

/// An index counted from one instead of zero.
void index_one_too_high(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  CUFAULT_OBSERVE_AS("cublasSgemm", "first_column_off_by_1_unchecked", multiply(handle, in, operands::k, 1));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
}

product_result multiply_10x10_by_10x5(cublasHandle_t handle) {
  return large_product({.m = 10, .n = 5, .k = 10}).multiply(handle);
}

void said_to_be_incompatible(trial& t) {
  const cublasHandle_t handle = open(t);
  CUFAULT_OBSERVE_AS("cublasSgemm", "10x10_by_10x5", multiply_10x10_by_10x5(handle));
}

// ---- remedies ----

void right_k(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  CUFAULT_OBSERVE_AS("cublasSgemm", "k_too_long_unchecked", multiply(handle, in, too_many_columns));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
  t.apply("the k that the buffers hold");
  CUFAULT_OBSERVE_AS("cublasSgemm", "b_transposed_unchecked", multiply(handle, in, operands::k));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
}

/// The same two products twice: unchecked, then checked in a new process, since nothing works in the old one.
void checked_on_the_host(trial& t) {
  const cublasHandle_t handle = open(t);
  const operands in(stale);
  const bool check = t.stage() > 0;
  for (const int columns : {columns_without_end, operands::k}) {
    if (check && columns > operands::k) continue;
    CUFAULT_OBSERVE_AS("cublasSgemm", "k_too_long_unchecked", multiply(handle, in, columns));
    CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", numbers(in));
  }
  if (check) return;
  t.apply("on the host, skip a k that the buffers do not hold; in a new process");
  t.continue_in_new_process();
}

// ---- the case ----

void out_of_bounds(failure_case& c) {
  const std::vector<std::string> too_long_claims{"S1-7", "S1-9", "S1-10"};

  c.control("the k that the buffers hold", control);

  c.fault("other_data_behind", "k too large, other data of the program behind the buffers", other_data_behind,
          too_long_claims);
  c.fault("zeros_behind", "k too large, zeros behind the buffers", zeros_behind, too_long_claims);
  c.fault("past_allocation", "k beyond the allocation, inside of its mapped granule", past_the_allocation,
          too_long_claims);
  c.fault("far_beyond", "k beyond everything that is mapped", far_beyond, too_long_claims);
  c.fault("contradicted", "k too large for the leading dimension of B", contradicted, too_long_claims);
  c.fault("index_too_high", "an index one too high into an operand", index_one_too_high, {"S3-7"});
  c.fault("10x10_by_10x5", "10x10 times 10x5, said to have incorrect dimensions", said_to_be_incompatible,
          {"S1-8"});

  c.remedy("right_k", "the k that the buffers hold", right_k);
  c.remedy("checked_shapes", "compare shapes on the host before the call", checked_on_the_host);
  c.repeat_undefined({"past_allocation", "far_beyond"},
                     "what lies behind an allocation, and whether it is mapped");
  c.in_tier = {"control", "other_data_behind", "far_beyond", "index_too_high", "checked_shapes"};
  c.share_process_of({"control", "contradicted", "10x10_by_10x5", "right_k"});
}

const register_case here("sticky.out_of_bounds",
                         "a product is told to read more than its operands' buffers hold", {"F-ARG-14"},
                         out_of_bounds);

}  // namespace
}  // namespace cufault
