// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products with miscalculated leading dimensions, batch strides or extents: too small, zero, negative, overlapping, or
//              overflown in an int.
// Why          A leading dimension below the number of rows contradicts itself. Any other number is legal for some matrix. Strides are not
//              checked (measured: H200, driver 580.159.04, cuBLAS 13.1.0), not even overlapping ones of C: memory is read or written
//              wherever they lead.
// Documented   cuBLAS library, cublas<t>gemm(): negative extents and too small leading dimensions, CUBLAS_STATUS_INVALID_VALUE;
//              cublas<t>gemmStridedBatched: of strides only that matrices of C must not overlap. Source documents say that miscalculated
//              strides are invalid, web pages that strideA must be m k at least. Reported: cumo#399, pytorch#17897, #31708, #73967,
//              superbenchmark#497.
// What helps   Recommended: a strideC of at least ldc n; strides computed in 64 bits; the functions with the suffix _64.
#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/mapped_memory.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;
constexpr std::int64_t two_to_31 = std::int64_t{1} << 31, two_to_32 = std::int64_t{1} << 32;

/// Value of a number after conversion to int.
constexpr int as_int(std::int64_t x) {
  return static_cast<int>(x);
}

// Extents of every product here except the widest; all different.
constexpr int m = 8, n = 6, k = 4;

argument_check::product described(std::int64_t columns = n, std::int64_t depth = k) {
  argument_check::product p;
  p.m = m, p.n = columns, p.k = depth;
  p.a.leading_dimension = p.c.leading_dimension = m;
  p.b.leading_dimension = depth;
  p.alpha = &one, p.beta = &zero;
  return p;
}

std::vector<double> all_nan(std::size_t count) {
  return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
}

/// cublasSgemm_64 as described.
cublasStatus_t sgemm_of_64_bits(cublasHandle_t handle, const argument_check::product& p, void* c) {
  const auto floats = [](const void* at) { return static_cast<const float*>(at); };
  return cublasSgemm_64(handle, p.a_op, p.b_op, p.m, p.n, p.k, floats(p.alpha), floats(p.a.data),
                        p.a.leading_dimension, floats(p.b.data), p.b.leading_dimension, floats(p.beta),
                        static_cast<float*>(c), p.c.leading_dimension);
}
/// cublasSgemm_64, or cublasSgemm with int parameters.
using sgemm_function = cublasStatus_t(cublasHandle_t, const argument_check::product&, void*);

// ---- a batch of consecutive matrices ----

/// Distances between matrices and between columns, as given to cuBLAS.
struct steps {
  long long a = m * k, b = k * n, c = m * n;
  int lda = m, ldb = k, ldc = m;
};

struct mistake {
  const char* words;
  steps told;
  steps meant{};
};
constexpr mistake none{"matrices one behind the other", {}};
constexpr std::array leading_dimensions_too_small{mistake{"lda one too small", {.lda = m - 1}},
                                                  mistake{"ldb one too small", {.ldb = k - 1}},
                                                  mistake{"ldc one too small", {.ldc = m - 1}}};
constexpr std::array leading_dimensions_too_large{mistake{"lda two too large", {.lda = m + 2}},
                                                  mistake{"ldb two too large", {.ldb = k + 2}},
                                                  mistake{"ldc two too large", {.ldc = m + 2}}};
constexpr mistake zero_c{"strideC 0", {.c = 0}};
constexpr mistake overlapping_c{"strideC a column too small", {.c = m * (n - 1)}};
constexpr std::array stride_zero{mistake{"strideA 0", {.a = 0}}, mistake{"strideB 0", {.b = 0}}, zero_c};
constexpr std::array stride_negative{mistake{"strideA negative", {.a = -m * k}},
                                     mistake{"strideB negative", {.b = -k * n}},
                                     mistake{"strideC negative", {.c = -m * n}}};
constexpr std::array stride_overlapping{mistake{"strideA a column too small", {.a = m * (k - 1)}},
                                        mistake{"strideB a column too small", {.b = k * (n - 1)}},
                                        overlapping_c};
/// Reported as mistakes, but intended.
constexpr std::array broadcasts{mistake{"one A for all", {.a = 0}, {.a = 0}},
                                mistake{"one B for all", {.b = 0}, {.b = 0}}};

/// Three products of matrices in the middle of arrays, so that wrong strides stay inside.
class batch {
 public:
  product_with_facts by(cublasHandle_t handle, const steps& told, const steps& meant) {
    const auto in_a = small_numbers(a_.size(), fresh_seed()), in_b = small_numbers(b_.size(), fresh_seed());
    a_.put(in_a);
    b_.put(in_b);
    c_.poison();
    const cublasStatus_t status = cublasSgemmStridedBatched(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, first(a_), told.lda, told.a, first(b_), told.ldb,
        told.b, &zero, first(c_), told.ldc, told.c, count);
    const product_result result = compared(status, c_, expected(in_a, in_b, meant));
    if (result.waited != cudaSuccess) return {result};
    const auto begin = static_cast<std::int64_t>(c_.size()) / all * in_front;
    return {result,
            {{"extent_of_c", std::vector<std::int64_t>{begin, begin + count * m * n - 1}},
             {"elements_written", runs_of(c_.written())}}};
  }

 private:
  static constexpr int in_front = 2, count = 3, all = in_front + count + 1;

  static float* first(const guarded_array& of) {
    return static_cast<float*>(of.data()) + of.size() / all * in_front;
  }
  [[nodiscard]] std::vector<double> expected(std::span<const double> in_a, std::span<const double> in_b,
                                             const steps& meant) const {
    auto p = described();
    p.batch = count;
    p.a.stride = meant.a, p.b.stride = meant.b, p.c.stride = meant.c;
    const auto own = [](std::span<const double> of) { return of.subspan(of.size() / all * in_front); };
    const std::size_t front = c_.size() / all * in_front;
    auto whole = all_nan(front);
    const auto product = multiplied(p, 1, own(in_a), own(in_b), 0, all_nan(c_.size() - front));
    whole.insert(whole.end(), product.begin(), product.end());
    return whole;
  }

  guarded_array a_{CUDA_R_32F, all*m*k}, b_{CUDA_R_32F, all*k*n}, c_{CUDA_R_32F, all*m*n};
};

product_with_facts observed(cublasHandle_t handle, const mistake& what) {
  batch b;
  return observe_call({"cublasSgemmStridedBatched", variant_of(what.words)},
                      [&] { return b.by(handle, what.told, what.meant); });
}

// ---- matrices and columns at distances beyond an int ----

/// Three short arrays of floats at equal distances, with nothing between them. A pointer points to number 0; number -1 lies before it,
/// perhaps without memory.
class far_apart {
 public:
  static constexpr std::size_t size = 64;  ///< of each: more than any matrix here

  far_apart(int device, std::int64_t distance, bool memory_in_front)
      : first_(memory_in_front ? -1 : 0),
        distance_(distance),
        begin_(reinterpret_cast<float*>(
            reserve_addresses((2 * distance * sizeof(float) / mapped_granule + 2) * mapped_granule))) {
    for (int i = first_; i <= last; ++i) {
      auto* const at = reinterpret_cast<std::byte*>(array(i));
      map_new_memory(at - reinterpret_cast<std::uintptr_t>(at) % mapped_granule, mapped_granule, device);
    }
  }
  [[nodiscard]] float* data() const { return array(0); }

  /// New numbers in each; NaN.
  void fill() {
    for (int i = first_; i <= last; ++i) put(i, small_numbers(size, fresh_seed()));
  }
  void poison() const {
    for (int i = first_; i <= last; ++i) put(i, all_nan(size));
  }
  [[nodiscard]] std::vector<double> get(int i) const {
    std::vector<std::byte> bytes(size * sizeof(float));
    CUFAULT_REQUIRE(cudaMemcpy(bytes.data(), array(i), bytes.size(), cudaMemcpyDefault));
    return decoded(CUDA_R_32F, bytes);
  }
  static constexpr int last = 1;
  [[nodiscard]] int first() const { return first_; }

 private:
  [[nodiscard]] float* array(int i) const { return begin_ + (i + 1) * distance_; }
  void put(int i, std::span<const double> numbers) const {
    const auto bytes = encoded(CUDA_R_32F, numbers);
    CUFAULT_REQUIRE(cudaMemcpy(array(i), bytes.data(), bytes.size(), cudaMemcpyDefault));
  }

  int first_;
  std::int64_t distance_;
  float* begin_;
};

/// Strides given for a batch of two distant matrices.
struct far_strides {
  const char* words;
  long long a = two_to_31, b = two_to_31, c = two_to_31;
};
constexpr far_strides in_64_bits{"strides of 2^31"};
constexpr far_strides wrapped_a{.words = "strideA of 2^31 in an int", .a = as_int(two_to_31)};
constexpr far_strides wrapped_c{.words = "strideC of 2^31 in an int", .c = as_int(two_to_31)};

class far_batch {
 public:
  far_batch(int device, bool memory_in_front)
      : a_(device, two_to_31, memory_in_front),
        b_(device, two_to_31, memory_in_front),
        c_(device, two_to_31, memory_in_front) {}

  product_with_facts by(cublasHandle_t handle, const far_strides& told) {
    a_.fill();
    b_.fill();
    c_.poison();
    product_with_facts seen;
    product_result& result = seen.result;
    result.status = cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a_.data(), m,
                                              told.a, b_.data(), k, told.b, &zero, c_.data(), m, told.c, 2);
    result.waited = cudaDeviceSynchronize();
    if (result.waited != cudaSuccess) return seen;
    result.right = true;
    std::vector<std::int64_t> written;
    const auto untouched = all_nan(far_apart::size);
    for (int i = c_.first(); i <= far_apart::last; ++i) {
      const auto found = c_.get(i);
      const auto expected =
          i < 0 ? untouched : multiplied(described(), 1, a_.get(i), b_.get(i), 0, untouched);
      result.right = result.right && differing(expected, found).empty();
      if (!differing(untouched, found).empty()) written.push_back(i);
    }
    seen.facts["matrices_written"] = written;
    return seen;
  }

 private:
  far_apart a_, b_, c_;
};

product_with_facts observed(cublasHandle_t handle, far_batch& b, const far_strides& told) {
  return observe_call({"cublasSgemmStridedBatched", variant_of(told.words)},
                      [&] { return b.by(handle, told); });
}

/// A has two columns, with a leading dimension of more than 31 bits.
class far_columns {
 public:
  far_columns(int device, std::int64_t leading_dimension)
      : leading_dimension_(leading_dimension), a_(device, leading_dimension, false) {}

  product_result sgemm_with_lda_in_int(cublasHandle_t handle) { return by(handle, sgemm); }
  product_result sgemm_64(cublasHandle_t handle) { return by(handle, sgemm_of_64_bits); }

 private:
  static constexpr int columns = 2;

  product_result by(cublasHandle_t handle, sgemm_function* multiply) {
    a_.fill();
    const auto in_b = small_numbers(b_.size(), fresh_seed());
    b_.put(in_b);
    c_.poison();
    std::vector<double> in_a;
    for (int i = 0; i < columns; ++i) {
      const auto column = a_.get(i);
      in_a.insert(in_a.end(), column.begin(), column.begin() + m);
    }
    auto p = described(n, columns);
    const auto expected = multiplied(p, 1, in_a, in_b, 0, all_nan(c_.size()));
    p.a.leading_dimension = leading_dimension_;
    p.a.data = a_.data(), p.b.data = b_.data();
    return compared(multiply(handle, p, c_.data()), c_, expected);
  }

  std::int64_t leading_dimension_;
  far_apart a_;
  guarded_array b_{CUDA_R_32F, columns*n}, c_{CUDA_R_32F, m*n};
};

// ---- more columns than an int counts ----

/// C with 2^31 columns, and B. Since columns repeat, all pieces of B share memory, and so do those of C except the last. This shows that
/// the first and last columns are right, but not that all columns between are computed.
class wide_product {
 public:
  explicit wide_product(int device) {
    const auto of_b = new_unmapped_memory(device, piece), of_c = new_unmapped_memory(device, piece),
               last_of_c = new_unmapped_memory(device, piece);
    for (std::size_t i = 0; i < pieces; ++i) {
      map_memory(b_ + i * piece, of_b, piece, device);
      map_memory(c_ + i * piece, i + 1 < pieces ? of_c : last_of_c, piece, device);
    }
  }
  product_result sgemm_with_n_in_int(cublasHandle_t handle) { return by(handle, sgemm); }
  product_result sgemm_64(cublasHandle_t handle) { return by(handle, sgemm_of_64_bits); }

 private:
  static constexpr int rows = 4;  // of A, B and C, and columns of A
  static constexpr std::size_t bytes = two_to_31 * rows * sizeof(float), piece = 16 * mapped_granule,
                               pieces = bytes / piece, in_piece = piece / sizeof(float);

  product_result by(cublasHandle_t handle, sgemm_function* multiply) {
    const auto in_a = small_numbers(a_.size(), fresh_seed()), in_b = small_numbers(in_piece, fresh_seed());
    a_.put(in_a);
    const auto as_bytes = encoded(CUDA_R_32F, in_b);
    CUFAULT_REQUIRE(cudaMemcpy(b_, as_bytes.data(), piece, cudaMemcpyDefault));
    const std::array ends{c_, c_ + (pieces - 1) * piece};
    for (std::byte* at : ends) CUFAULT_REQUIRE(cudaMemset(at, 0xff, piece));
    auto p = described(two_to_31, rows);
    p.m = p.a.leading_dimension = p.c.leading_dimension = rows;
    p.a.data = a_.data(), p.b.data = b_;
    product_result result{.status = multiply(handle, p, c_)};
    result.waited = cudaDeviceSynchronize();
    if (result.status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
    p.n = in_piece / rows;
    const auto expected = multiplied(p, 1, in_a, in_b, 0, all_nan(in_piece));
    std::vector<std::byte> found(piece);
    result.right = std::all_of(ends.begin(), ends.end(), [&](const std::byte* at) {
      CUFAULT_REQUIRE(cudaMemcpy(found.data(), at, piece, cudaMemcpyDefault));
      return differing(expected, decoded(CUDA_R_32F, found)).empty();
    });
    return result;
  }

  guarded_array a_{CUDA_R_32F, rows* rows};
  std::byte *b_ = reserve_addresses(bytes), *c_ = reserve_addresses(bytes);
};

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  observed(handle, none);
  far_batch b(t.device(), true);
  observed(handle, b, in_64_bits);
}

// ---- faults ----

/// Tries each until one leaves an error.
void mistaken(trial& t, std::span<const mistake> all) {
  const cublasHandle_t handle = handle_in_context(t);
  for (const mistake& each : all)
    if (observed(handle, each).result.waited != cudaSuccess) return;
}

void broadcast(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  for (const mistake& each : broadcasts)
    if (observed(handle, each).result.waited != cudaSuccess) return;
}

void wrapped_stride(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  far_batch b(t.device(), true);
  for (const far_strides& told : {wrapped_a, wrapped_c})
    if (observed(handle, b, told).result.waited != cudaSuccess) return;
}

void wrapped_stride_at_the_start(trial& t, const far_strides& told) {
  const cublasHandle_t handle = handle_in_context(t);
  far_batch b(t.device(), false);
  observed(handle, b, told);
}

void extents_in_int(trial& t) {
  using product = argument_check::product;
  const cublasHandle_t handle = handle_in_context(t);
  const checked_product small(described());
  for (const auto& [name, extent] :
       {std::pair{"m", &product::m}, std::pair{"n", &product::n}, std::pair{"k", &product::k}}) {
    product p = small.described();
    p.*extent = as_int(two_to_31);
    observe_call({"cublasSgemm", fmt::format("{}_of_2_31_in_an_int", name)},
                 [&] { return sgemm(handle, p, small.c.data()); });
    if (CUFAULT_OBSERVE(cudaDeviceSynchronize()) != cudaSuccess) return;
  }
}

/// As an int one is negative; the other is small, and legal.
constexpr std::int64_t turns_negative = two_to_31, turns_small = two_to_32 + 2 * m;

void leading_dimension_in_int(trial& t, std::int64_t leading_dimension) {
  const cublasHandle_t handle = handle_in_context(t);
  far_columns columns(t.device(), leading_dimension);
  CUFAULT_OBSERVE_AS("cublasSgemm", "lda_in_int", columns.sgemm_with_lda_in_int(handle));
}

// ---- remedies and dead ends ----

void strides_of_c_apart(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  observed(handle, overlapping_c);
  observed(handle, zero_c);
  t.apply("a strideC of ldc n");
  observed(handle, none);
}

void larger_stride_of_a(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  mistake both = overlapping_c;
  both.words = "one A for all, strideC a column too small";
  both.told.a = both.meant.a = 0;
  observed(handle, both);
  t.apply("an A for each, and a strideA of m k");
  observed(handle, overlapping_c);
}

void strides_in_64_bits(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  far_batch b(t.device(), true);
  observed(handle, b, wrapped_a);
  observed(handle, b, wrapped_c);
  t.apply("strides computed in 64 bits");
  observed(handle, b, in_64_bits);
}

void wide_leading_dimension(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  far_columns first(t.device(), turns_negative), second(t.device(), turns_small);
  CUFAULT_OBSERVE_AS("cublasSgemm", "lda_of_2_31_in_int", first.sgemm_with_lda_in_int(handle));
  CUFAULT_OBSERVE_AS("cublasSgemm", "lda_of_2_32_in_int", second.sgemm_with_lda_in_int(handle));
  t.apply("cublasSgemm_64");
  CUFAULT_OBSERVE_AS("cublasSgemm_64", "lda_of_2_31", first.sgemm_64(handle));
  CUFAULT_OBSERVE_AS("cublasSgemm_64", "lda_of_2_32", second.sgemm_64(handle));
}

void wide_extent(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  wide_product wide(t.device());
  CUFAULT_OBSERVE_AS("cublasSgemm", "n_of_2_31_in_int", wide.sgemm_with_n_in_int(handle));
  t.apply("cublasSgemm_64");
  CUFAULT_OBSERVE_AS("cublasSgemm_64", "n_of_2_31", wide.sgemm_64(handle));
}

// ---- the case ----

void miscalculated_strides(failure_case& c) {
  c.control("matrices one behind the other, and 2^31 elements apart", control);

  const auto with = [](std::span<const mistake> all) { return [all](trial& t) { mistaken(t, all); }; };
  const std::vector<std::string> invalid{"S3-8"};
  c.fault("leading_dimension_too_small", "each leading dimension below the rows of its matrix",
          with(leading_dimensions_too_small), invalid);
  c.fault("leading_dimension_too_large", "each leading dimension larger than it is in memory",
          with(leading_dimensions_too_large), invalid);
  c.fault("stride_zero", "each batch stride 0 where matrices differ", with(stride_zero), invalid);
  c.fault("stride_negative", "each batch stride with the wrong sign", with(stride_negative), invalid);
  c.fault("stride_overlapping", "each batch stride a column too small", with(stride_overlapping), invalid);
  c.fault("broadcast", "a batch stride of 0 for an A or B that all share, said to be too small", broadcast);

  const auto at_the_start = [](const far_strides& told) {
    return [told](trial& t) { wrapped_stride_at_the_start(t, told); };
  };
  c.fault("wrapped_stride", "batch strides of 2^31 computed in an int, other data in front", wrapped_stride,
          invalid);
  c.fault("wrapped_stride_a_at_start", "the same of A, and no memory in front of it", at_the_start(wrapped_a),
          invalid);
  c.fault("wrapped_stride_c_at_start", "the same of C, and no memory in front of it", at_the_start(wrapped_c),
          invalid);

  const auto in_int = [](std::int64_t leading_dimension) {
    return [leading_dimension](trial& t) { leading_dimension_in_int(t, leading_dimension); };
  };
  c.fault("extents_in_int", "extents of 2^31 in parameters of type int", extents_in_int);
  c.fault("leading_dimension_in_int", "a leading dimension of 2^31 in a parameter of type int",
          in_int(turns_negative), invalid);
  c.fault("leading_dimension_wrapped", "the same of 2^32 and a little more", in_int(turns_small), invalid);

  c.remedy("strides_of_c_apart", "matrices of C that do not overlap", strides_of_c_apart);
  c.remedy("strides_in_64_bits", "compute strides in 64 bits", strides_in_64_bits);
  c.remedy("wide_leading_dimension", "the function with _64 for such leading dimensions",
           wide_leading_dimension);
  c.remedy("wide_extent", "the function with _64 for 2^31 columns", wide_extent);
  c.dead_end("larger_stride_of_a", "a strideA of m k while matrices of C overlap", larger_stride_of_a);
  c.repeat_undefined({"stride_zero", "stride_overlapping", "larger_stride_of_a"},
                     "which product writes last where matrices of C overlap");
  c.in_tier = {"control", "leading_dimension_too_small", "stride_overlapping", "wrapped_stride_a_at_start",
               "strides_in_64_bits"};
  c.share_process({"wrapped_stride_a_at_start", "wrapped_stride_c_at_start"});
}

const register_case here("layout.strides",
                         "leading dimensions, batch strides and extents that were miscalculated",
                         {"F-ARG-07", "F-ARG-08"}, miscalculated_strides);

}  // namespace
}  // namespace cufault
