// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products of few columns that lie more than 2 GiB apart: wrong numbers or an illegal access.
// Why          A defect of one algorithm: the bytes from a column to the next do not fit into 32 bits.
// Documented   Release notes (CUB-9572): CUBLASLT_ALGO_CONFIG_ID 66 on compute capability 9.0, where a leading dimension times the size
//              of an element is more than INT32_MAX; since 12.6 Update 2, resolved in 13.2.
// What helps   Documented: a smaller leading dimension, or another algorithm.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: an illegal access, for columns of each operand, by cublasGemmEx as well; both
//              remedies help.
#include "cases/numbers/configurations.hpp"
#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;
constexpr std::int64_t half_bytes = 2;
// Columns aligned to 16 bytes, one leading dimension on either side of the limit.
constexpr std::int64_t too_wide = (std::int64_t{1} << 30) + 8, as_wide_as_fits = (std::int64_t{1} << 30) - 8;
static_assert(too_wide * half_bytes > INT32_MAX && as_wide_as_fits * half_bytes <= INT32_MAX);

/// A matrix in half precision on the device, with the given distance between columns.
class spread_matrix {
 public:
  spread_matrix(std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension)
      : rows_(rows), columns_(columns), leading_dimension_(leading_dimension) {
    const auto bytes = static_cast<std::size_t>(((columns - 1) * leading_dimension + rows) * half_bytes);
    if (free_device_memory() < bytes + (std::size_t{1} << 30))
      throw not_provoked(
          fmt::format("{} MiB of device memory and one GiB more are not free: free them", bytes >> 20));
    void* memory = nullptr;
    CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
    CUFAULT_REQUIRE(cudaMemset(memory, 0xff, bytes));  // NaN shows reads in the wrong place
    data_ = static_cast<std::byte*>(memory);
  }
  ~spread_matrix() { cudaFree(data_); }
  spread_matrix(const spread_matrix&) = delete;
  spread_matrix& operator=(const spread_matrix&) = delete;
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] argument_check::matrix described() const { return {data_, CUDA_R_16F, leading_dimension_}; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(rows_ * columns_); }

  /// Writes numbers without gaps between columns.
  void put(const std::vector<double>& numbers) const {
    const auto bytes = encoded(CUDA_R_16F, numbers);
    for (std::int64_t j = 0; j < columns_; ++j)
      CUFAULT_REQUIRE(
          cudaMemcpy(column(j), &bytes[j * column_bytes()], column_bytes(), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] std::vector<double> get() const {
    std::vector<std::byte> bytes(size() * half_bytes);
    for (std::int64_t j = 0; j < columns_; ++j)
      CUFAULT_REQUIRE(
          cudaMemcpy(&bytes[j * column_bytes()], column(j), column_bytes(), cudaMemcpyDeviceToHost));
    return decoded(CUDA_R_16F, bytes);
  }
  void poison() const {
    for (std::int64_t j = 0; j < columns_; ++j) CUFAULT_REQUIRE(cudaMemset(column(j), 0xff, column_bytes()));
  }

 private:
  [[nodiscard]] std::size_t column_bytes() const { return static_cast<std::size_t>(rows_ * half_bytes); }
  [[nodiscard]] std::byte* column(std::int64_t j) const {
    return data_ + j * leading_dimension_ * half_bytes;
  }
  std::int64_t rows_, columns_, leading_dimension_;
  std::byte* data_ = nullptr;
};

enum class operand { a, b, c };

/// A product in half precision with A transposed. One operand has few columns, `leading_dimension` apart. Small whole numbers: exact in any
/// order.
class wide_product {
 public:
  wide_product(operand wide, std::int64_t leading_dimension)
      : m_(wide == operand::a ? rows_of_few : many),
        n_(wide == operand::a ? many : few),
        a_(k, m_, wide == operand::a ? leading_dimension : k),
        b_(k, n_, wide == operand::b ? leading_dimension : k),
        c_(m_, n_, wide == operand::c ? leading_dimension : many) {
    const auto of_a = small_numbers(a_.size(), fresh_seed()), of_b = small_numbers(b_.size(), fresh_seed());
    a_.put(of_a);
    b_.put(of_b);
    argument_check::product packed = described();
    packed.a.leading_dimension = packed.b.leading_dimension = k, packed.c.leading_dimension = m_;
    expected_ = multiplied(packed, 1, of_a, of_b, 0, std::vector<double>(c_.size()));
  }

  [[nodiscard]] argument_check::product described() const {
    argument_check::product p;
    p.a_op = CUBLAS_OP_T;
    p.m = m_, p.n = n_, p.k = k;
    p.a = a_.described(), p.b = b_.described(), p.c = c_.described();
    p.alpha = &one, p.beta = &zero;
    return p;
  }

  product_result by_gemm_ex(cublasHandle_t handle) const {
    c_.poison();
    return finish(gemm_ex(handle, described(), c_.data()));
  }

  product_result by_lt(const workbench& on, const lt_problem& problem,
                       const cublasLtMatmulAlgo_t& algorithm) const {
    c_.poison();
    return finish(
        multiply_by(on, problem, {&one, a_.data(), b_.data(), &zero, c_.data(), c_.data()}, algorithm));
  }

 private:
  [[nodiscard]] product_result finish(cublasStatus_t status) const {
    product_result result{.status = status, .waited = cudaDeviceSynchronize()};
    if (status == CUBLAS_STATUS_SUCCESS && result.waited == cudaSuccess)
      result.right = differing(expected_, c_.get()).empty();
    return result;
  }
  // A's columns are C's rows: cuBLAS 13.1.0 has no algorithm 66 for three of them.
  static constexpr std::int64_t few = 3, rows_of_few = 8, many = 64, k = 64;
  std::int64_t m_, n_;
  spread_matrix a_, b_, c_;
  std::vector<double> expected_;
};

/// Algorithm 66, or one configuration of every other.
enum class which { algorithm_66_alone, all_others };

class lt_bench {
 public:
  lt_bench(which algorithms, operand wide, std::int64_t leading_dimension)
      : product_(wide, leading_dimension), all_(on_.lt, product_.described()) {
    for (const int id : all_.algorithms()) {
      const bool is_66 = id == algorithm_66;
      if (is_66 != (algorithms == which::algorithm_66_alone)) continue;
      const auto usable = all_.of(id, {}, is_66 ? 8 : 1);
      tried_.insert(tried_.end(), usable.begin(), usable.end());
    }
  }
  [[nodiscard]] bool has_some() const { return !tried_.empty(); }

  survey multiply() {
    return try_each(
        tried_, [&](const cublasLtMatmulAlgo_t& each) { return product_.by_lt(on_, all_.problem(), each); });
  }

 private:
  workbench on_;
  wide_product product_;
  configurations all_;
  std::vector<cublasLtMatmulAlgo_t> tried_;
};

[[noreturn]] void no_such_algorithm() {
  throw not_provoked(
      "cuBLASLt has no such algorithm here for so long a leading dimension: "
      "66 is documented for compute capability 9.0");
}

survey multiply_by_lt(lt_bench& b) {
  return b.multiply();
}

void observe_by_lt(which algorithms, operand wide, std::int64_t leading_dimension) {
  lt_bench b(algorithms, wide, leading_dimension);
  if (!b.has_some()) no_such_algorithm();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_algorithm", multiply_by_lt(b));
}

product_result multiply_by_gemm_ex(operand wide, std::int64_t leading_dimension) {
  return wide_product(wide, leading_dimension).by_gemm_ex(new_handle());
}

constexpr std::array operands{operand::a, operand::b, operand::c};

void control(trial& t) {
  t.open_context();
  bool any = false;
  for (const operand wide : operands) {
    lt_bench b(which::algorithm_66_alone, wide, as_wide_as_fits);
    if (!b.has_some()) continue;  // its arms report that
    any = true;
    CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_algorithm", multiply_by_lt(b));
  }
  if (!any) no_such_algorithm();
}

void control_gemm_ex(trial& t) {
  t.open_context();
  for (const operand wide : operands)
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16_wide_leading_dimension",
                       multiply_by_gemm_ex(wide, as_wide_as_fits));
}

void by_algorithm_66(trial& t, operand wide) {
  t.open_context();
  observe_by_lt(which::algorithm_66_alone, wide, too_wide);
}

void by_gemm_ex(trial& t, operand wide) {
  t.open_context();
  CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16_wide_leading_dimension", multiply_by_gemm_ex(wide, too_wide));
}

void smaller(trial& t, operand wide) {
  t.open_context();
  t.apply("a leading dimension of 2^30 - 8");
  observe_by_lt(which::algorithm_66_alone, wide, as_wide_as_fits);
}

void other_algorithm(trial& t, operand wide) {
  t.open_context();
  t.apply("every other algorithm");
  observe_by_lt(which::all_others, wide, too_wide);
}

void wide_leading_dimension(failure_case& c) {
  c.control("algorithm 66, columns of each operand just below 2 GiB apart", control);
  c.add("control_gemm_ex", arm_kind::control, "cublasGemmEx, columns of each operand just below 2 GiB apart",
        control_gemm_ex);
  const auto add = [&](operand wide, const std::string& name, const std::string& letter) {
    const auto with = [=](void (*body)(trial&, operand)) { return [=](trial& t) { body(t, wide); }; };
    const std::string fault = "algorithm_66_" + name;
    c.fault(fault, "algorithm 66, columns of " + letter + " more than 2 GiB apart", with(by_algorithm_66));
    c.fault("gemm_ex_" + name, "cublasGemmEx, columns of " + letter + " more than 2 GiB apart",
            with(by_gemm_ex));
    c.remedy("smaller_" + name, "algorithm 66, columns of " + letter + " just below 2 GiB apart",
             with(smaller))
        .against = fault;
    c.remedy("other_algorithm_" + name,
             "each other algorithm that takes columns of " + letter + " that far apart",
             with(other_algorithm))
        .against = fault;
  };
  add(operand::a, "a", "A");
  add(operand::b, "b", "B");
  add(operand::c, "c", "C");
  c.share_process_of({"control", "control_gemm_ex", "smaller_a", "other_algorithm_a", "smaller_b",
                      "other_algorithm_b", "smaller_c", "other_algorithm_c"});
}

const register_case here("numbers.wide_leading_dimension",
                         "a leading dimension of more bytes than 32 bits hold", {"RN-03"},
                         wide_leading_dimension);

}  // namespace
}  // namespace cufault
