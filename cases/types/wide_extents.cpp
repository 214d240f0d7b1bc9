// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products with vectors whose indices exceed 32 bits: cuBLASLt with m or n of 1 and more than 2^31 elements, gemv with an
//              increment or leading dimension that puts the last element beyond 2^32.
// Why          Every extent and step is a legal int; their product is not.
// Documented   Release notes: illegal accesses by cublasLtMatmul with m or n of 1 (5113092, 4959900), fixed in 12.8 Update 1; by
//              cublas<t>gemv with a transposed matrix where n times incy exceeds 32 bits, and NOT_SUPPORTED by cublasZgemv where n times
//              lda does (6207926), before 13.4.
// Measured     H200, cuBLAS 13.1.0: cuBLASLt with m or n of 1 is right. cublas<t>gemv is right with an increment of 2^30, but for
//              cublasZgemv with the conjugate transposed: NOT_SUPPORTED, from a heuristic of cuBLASLt. With a leading dimension of
//              2^30 cublasZgemv is right with an increment of 1; with one of 2 the conjugate transposed is NOT_SUPPORTED again. With
//              13.10.0 that one is right, and the product with the matrix as it is has wrong numbers behind SUCCESS.
// What helps   Recommended: an increment of 1. Tried besides: columns that lie close together.
//
// Only memory that a gemv should touch is mapped: other accesses are illegal at once.
#include "cases/types/lt_products.hpp"
#include "harness/kit/device_block.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/mapped_memory.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

// ---- cuBLASLt, one row or column ----

/// Sides of the matrix, which has more than 2^31 elements. Neither is a multiple of the other.
constexpr std::int64_t long_side = 65544, short_side = 32776;
constexpr std::int64_t fewer = 8200;  // a size without failures; a multiple of 8 like the others

/// A matrix whose first half of columns (their number is even) has ones and second half twos; a vector of ones.
class half_and_half {
 public:
  half_and_half(std::int64_t rows, std::int64_t columns)
      : rows_(rows),
        columns_(columns),
        vector_(CUDA_R_16F, static_cast<std::size_t>(std::max(rows, columns))) {
    const auto halves = static_cast<std::size_t>(rows * columns);
    const std::size_t bytes = halves * sizeof(std::uint16_t);
    if (const std::size_t free = free_device_memory(); free < bytes + 1_GiB)
      throw not_provoked(fmt::format("{} GiB of device memory are free, {} are needed: free some", free >> 30,
                                     (bytes + 1_GiB) >> 30));
    matrix_.emplace(bytes);
    const std::size_t floats_in_half = halves / 4;  // two elements each
    CUFAULT_REQUIRE(
        launch_fill(matrix_->floats(), floats_in_half, std::bit_cast<float>(0x3c003c00U), nullptr));
    CUFAULT_REQUIRE(launch_fill(matrix_->floats(floats_in_half), floats_in_half,
                                std::bit_cast<float>(0x40004000U), nullptr));
    vector_.put(std::vector<double>(vector_.size(), 1));
  }

  /// C = A b, with the matrix as A.
  product_result times_column(cublasLtHandle_t lt) const {
    const double each = 1.5 * static_cast<double>(columns_);
    return multiply(lt, {rows_, 1, columns_}, matrix_->address(), vector_.data(),
                    std::vector<double>(static_cast<std::size_t>(rows_), each));
  }
  /// C = a B, with the matrix as B.
  product_result row_times(cublasLtHandle_t lt) const {
    std::vector<double> expected(static_cast<std::size_t>(columns_), static_cast<double>(rows_));
    std::fill(expected.begin() + columns_ / 2, expected.end(), 2 * static_cast<double>(rows_));
    return multiply(lt, {1, columns_, rows_}, vector_.data(), matrix_->address(), expected);
  }

 private:
  static product_result multiply(cublasLtHandle_t lt, const extents& of, const void* a, const void* b,
                                 const std::vector<double>& expected) {
    argument_check::product p;
    p.m = of.m, p.n = of.n, p.k = of.k;
    p.a.type = p.b.type = CUDA_R_16F;
    p.a.leading_dimension = p.c.leading_dimension = of.m;
    p.b.leading_dimension = of.k;
    lt_problem problem(p);
    const guarded_array d(CUDA_R_32F, expected.size());
    const float one = 1, zero = 0;
    const auto status = problem.multiply_by_first(lt, {&one, a, b, &zero, d.data(), d.data()});
    return compared(status, d, expected);
  }

  std::int64_t rows_, columns_;
  guarded_array vector_;
  std::optional<device_block> matrix_;
};

// ---- gemv ----

constexpr auto untouched = std::byte{0xff};

/// Pieces of elements at equal distances, with memory at the pieces and none between them. Untouched at first. The end of the process
/// releases it.
class sparse_memory {
 public:
  sparse_memory(int device, std::int64_t pieces, std::size_t step) : step_(step) {
    const auto count = static_cast<std::size_t>(pieces);
    const bool whole = step % mapped_granule == 0;
    const std::size_t granules = whole ? count : (count * step + mapped_granule - 1) / mapped_granule;
    const std::size_t apart = whole ? step : mapped_granule;
    std::byte* const base = reserve_addresses((granules - 1) * apart + mapped_granule);
    for (std::size_t i = 0; i < granules; ++i) {
      starts_.push_back(base + i * apart);
      map_new_memory(starts_.back(), mapped_granule, device);
      CUFAULT_REQUIRE(cudaMemset(starts_.back(), std::to_integer<int>(untouched), mapped_granule));
    }
  }

  [[nodiscard]] std::byte* data() const { return starts_.front(); }
  /// Writes the bytes of piece `i`.
  void put(std::int64_t i, const std::vector<std::byte>& bytes) const {
    CUFAULT_REQUIRE(cudaMemcpy(data() + static_cast<std::size_t>(i) * step_, bytes.data(), bytes.size(),
                               cudaMemcpyHostToDevice));
  }
  /// Everything that has memory, granule by granule.
  [[nodiscard]] std::vector<std::byte> get() const {
    std::vector<std::byte> all(starts_.size() * mapped_granule);
    for (std::size_t i = 0; i < starts_.size(); ++i)
      CUFAULT_REQUIRE(
          cudaMemcpy(&all[i * mapped_granule], starts_[i], mapped_granule, cudaMemcpyDeviceToHost));
    return all;
  }
  /// Offset of piece `i` in that.
  [[nodiscard]] std::size_t position(std::int64_t i) const {
    return static_cast<std::size_t>(i) * (step_ % mapped_granule == 0 ? mapped_granule : step_);
  }

 private:
  std::size_t step_;
  std::vector<std::byte*> starts_;
};

/// cublas<t>gemv with pointers to any type, and an incx of 1.
using gemv_function =
    std::function<cublasStatus_t(cublasHandle_t, cublasOperation_t, int m, int n, const void* alpha,
                                 const void* a, int lda, const void* x, const void* beta, void* y, int incy)>;

template <class T>
gemv_function gemv_of(cublasStatus_t (*f)(cublasHandle_t, cublasOperation_t, int, int, const T*, const T*,
                                          int, const T*, int, const T*, T*, int)) {
  return [f](cublasHandle_t handle, cublasOperation_t op, int m, int n, const void* alpha, const void* a,
             int lda, const void* x, const void* beta, void* y, int incy) {
    return f(handle, op, m, n, static_cast<const T*>(alpha), static_cast<const T*>(a), lda,
             static_cast<const T*>(x), 1, static_cast<const T*>(beta), static_cast<T*>(y), incy);
  };
}

struct gemv_row {
  std::string words;
  gemv_function function;
  cudaDataType type;
  cublasOperation_t op;
  int lda, incy;
};
constexpr int gemv_m = 96, gemv_n = 5;

std::size_t bytes_of(cudaDataType type) {
  return argument_check::detail::element_size(static_cast<int>(type));
}

product_result multiply_vector(int device, cublasHandle_t handle, const gemv_row& r) {
  const bool turned = r.op != CUBLAS_OP_N;
  const int of_x = turned ? gemv_m : gemv_n, of_y = turned ? gemv_n : gemv_m;
  const std::size_t size = bytes_of(r.type);
  const sparse_memory a(device, gemv_n, static_cast<std::size_t>(r.lda) * size);
  const sparse_memory y(device, of_y, static_cast<std::size_t>(r.incy) * size);

  // Equals a product with one column.
  argument_check::product p;
  p.a_op = r.op;
  p.m = of_y, p.n = 1, p.k = of_x;
  p.a.leading_dimension = gemv_m, p.b.leading_dimension = of_x, p.c.leading_dimension = of_y;
  const auto count = [](int elements) { return static_cast<std::size_t>(elements); };
  const auto numbers = small_numbers(count(gemv_m) * gemv_n, fresh_seed());
  auto of_vector = small_numbers(count(of_x), fresh_seed());
  // A 0 would hide a column that is skipped, or read from a wrong place.
  std::ranges::replace(of_vector, 0.0, 1.0);
  const auto expected = multiplied(p, 1, numbers, of_vector, 0, std::vector<double>(count(of_y)));
  for (int j = 0; j < gemv_n; ++j)
    a.put(j, encoded(r.type, std::span(numbers).subspan(count(j) * gemv_m, gemv_m)));
  guarded_array x(r.type, count(of_x));
  x.put(of_vector);
  const auto one = encoded(r.type, std::array{1.0}), zero = encoded(r.type, std::array{0.0});
  product_result result;
  result.status = r.function(handle, r.op, gemv_m, gemv_n, one.data(), a.data(), r.lda, x.data(), zero.data(),
                             y.data(), r.incy);
  result.waited = cudaDeviceSynchronize();
  if (result.status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
  auto rest = y.get();
  std::vector<std::byte> written;
  for (int i = 0; i < of_y; ++i) {
    const auto element = std::span(rest).subspan(y.position(i), size);
    written.insert(written.end(), element.begin(), element.end());
    std::fill(element.begin(), element.end(), untouched);
  }
  result.right = differing(expected, decoded(r.type, written)).empty() &&
                 std::count(rest.begin(), rest.end(), untouched) == std::ssize(rest) && x.guards_intact();
  return result;
}

constexpr int far_apart = 1 << 30, apart = 1 << 20, together = 1;

std::vector<gemv_row> rows_with_incy(int incy) {
  const auto row = [=](const char* name, gemv_function function, cudaDataType type, cublasOperation_t op) {
    return gemv_row{fmt::format("{}, incy {}", name, incy), std::move(function), type, op, gemv_m, incy};
  };
  return {row("cublasSgemv T", gemv_of(cublasSgemv), CUDA_R_32F, CUBLAS_OP_T),
          row("cublasDgemv T", gemv_of(cublasDgemv), CUDA_R_64F, CUBLAS_OP_T),
          row("cublasZgemv C", gemv_of(cublasZgemv), CUDA_C_64F, CUBLAS_OP_C)};
}

std::vector<gemv_row> rows_with_lda(int lda) {
  const auto row = [=](const char* name, cublasOperation_t op, int incy) {
    return gemv_row{
        fmt::format("{}, lda {}, incy {}", name, lda, incy), gemv_of(cublasZgemv), CUDA_C_64F, op, lda, incy};
  };
  // With an increment, cuBLASLt computes the conjugate transposed product.
  return {row("cublasZgemv N", CUBLAS_OP_N, together), row("cublasZgemv T", CUBLAS_OP_T, together),
          row("cublasZgemv C", CUBLAS_OP_C, together), row("cublasZgemv C", CUBLAS_OP_C, 2)};
}

void multiply_vectors(trial& t, cublasHandle_t handle, const std::vector<gemv_row>& rows) {
  for (const gemv_row& r : rows)
    observe_call(named_by_words(r.words), [&] { return multiply_vector(t.device(), handle, r); });
}

/// Runs each in an undamaged process.
void multiply_vectors_apart(trial& t, const std::vector<gemv_row>& rows) {
  t.for_each_row(rows.size(), [&]() -> trial::row_function {
    t.open_context();
    return [&, handle = new_handle()](std::size_t row) { multiply_vectors(t, handle, {rows.at(row)}); };
  });
}

// ---- arms ----

void control(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  const half_and_half smaller(fewer, short_side);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "a_matrix_by_a_column", smaller.times_column(lt));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "a_row_by_a_matrix", smaller.row_times(lt));
  cublasHandle_t const handle = new_handle();
  multiply_vectors(t, handle, rows_with_incy(apart));
  multiply_vectors(t, handle, rows_with_lda(apart));
}

void long_vectors(trial& t) {
  t.for_each_row(2, [&]() -> trial::row_function {
    t.open_context();
    return [lt = new_lt_handle()](std::size_t row) {
      if (row == 0) {
        const half_and_half high(long_side, short_side);
        CUFAULT_OBSERVE_AS("cublasLtMatmul", "a_matrix_by_a_column", high.times_column(lt));
      } else {
        const half_and_half wide(short_side, long_side);
        CUFAULT_OBSERVE_AS("cublasLtMatmul", "a_row_by_a_matrix", wide.row_times(lt));
      }
    };
  });
}

void far_apart_in_y(trial& t) {
  multiply_vectors_apart(t, rows_with_incy(far_apart));
}

void far_apart_in_a(trial& t) {
  multiply_vectors_apart(t, rows_with_lda(far_apart));
}

void incy_of_1(trial& t) {
  t.open_context();
  t.apply("an incy of 1");
  multiply_vectors(t, new_handle(), rows_with_incy(together));
}

void columns_together(trial& t) {
  t.open_context();
  t.apply("columns that lie close together");
  multiply_vectors(t, new_handle(), rows_with_lda(gemv_m));
}

void wide_extents(failure_case& c) {
  c.control("the same where every index fits", control);
  c.fault("long_vectors", "cuBLASLt with one row or column, and more than 2^31 elements", long_vectors);
  c.fault("far_apart_in_y", "gemv, transposed, with an increment of 2^30", far_apart_in_y);
  c.fault("far_apart_in_a", "cublasZgemv with a leading dimension of 2^30", far_apart_in_a);
  c.remedy("incy_of_1", "an increment of 1", incy_of_1).against = "far_apart_in_y";
  c.remedy("columns_together", "the least leading dimension", columns_together).against = "far_apart_in_a";
}

const register_case here("types.wide_extents",
                         "vectors and matrices whose last index does not fit into 32 bits",
                         {"RN-12", "RN-20"}, wide_extents);

}  // namespace
}  // namespace cufault
