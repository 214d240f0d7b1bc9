// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Batches: more than 65535 products in a call, different counts in the descriptions of cuBLASLt's matrices, and one column of
//              C for all columns of D.
// Why          A grid has 65535 blocks in its third dimension. Supposed: cuBLASLt takes the count from one of several descriptions; a
//              leading dimension of 0 is a broadcast, which not every kernel reads correctly.
// Documented   Release notes: batches above 65535 are split by cuBLAS since 12.2 Update 2; before 13.1 different counts of A and B are
//              not rejected (5645772); before 13.2 a C of leading dimension 0 gives wrong results (5845724). Users: tensorflow#44175
//              (many products, cuBLASLt of 2020; mlx#3858 and cutlass#1369 are of kernels of their own), CUDALibrarySamples#185 (counts).
// Measured     H200, cuBLAS 13.1.0: 65536 and 70000 products are right, and so is one column of C, in a small product and in one that
//              fills a GPU, by every algorithm that the heuristic proposes. Counts that differ are INVALID_VALUE, from the heuristic.
// What helps   Recommended: 65535 products at most at a time; the same count on every description; a C that is written out.
#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

// ---- many products ----

constexpr std::int64_t most_in_grid = 65535;

/// Tiny products of FP32, and arrays of pointers to their operands in device memory.
class many {
 public:
  explicit many(std::int64_t count)
      : p_(tiny(count)), a_(pointers(p_.a, 0)), b_(pointers(p_.b, 1)), c_(pointers(p_.c, 2)) {}

  /// At most `at_a_time` products in a call.
  product_result strided(cublasHandle_t handle, std::int64_t at_a_time) {
    const auto& d = p_.described();
    return in_parts(at_a_time, [&](std::int64_t first, int count) {
      return cublasSgemmStridedBatched(handle, d.a_op, d.b_op, m, n, k, one(), at(p_.a) + first * d.a.stride,
                                       m, d.a.stride, at(p_.b) + first * d.b.stride, k, d.b.stride, zero(),
                                       at(p_.c) + first * d.c.stride, m, d.c.stride, count);
    });
  }
  product_result by_pointers(cublasHandle_t handle, std::int64_t at_a_time) {
    const auto& d = p_.described();
    return in_parts(at_a_time, [&](std::int64_t first, int count) {
      return cublasSgemmBatched(handle, d.a_op, d.b_op, m, n, k, one(), a_ + first, m, b_ + first, k, zero(),
                                c_ + first, m, count);
    });
  }
  product_result by_gemm_ex(cublasHandle_t handle) { return p_.by_gemm_ex(handle); }
  product_result by_lt(cublasLtHandle_t lt) { return p_.by_lt(lt); }

 private:
  static constexpr int m = 5, n = 3, k = 4;
  static argument_check::product tiny(std::int64_t count) {
    argument_check::product p;
    p.m = m, p.n = n, p.k = k, p.batch = count;
    return p;
  }
  static float* at(const guarded_array& of) { return static_cast<float*>(of.data()); }
  const float* one() { return static_cast<const float*>(p_.alpha()); }
  const float* zero() { return static_cast<const float*>(p_.beta()); }

  /// Released by the end of the process.
  float** pointers(const guarded_array& of, int operand) const {
    const auto& d = p_.described();
    const std::array strides{d.a.stride, d.b.stride, d.c.stride};
    std::vector<float*> all(static_cast<std::size_t>(d.batch));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = at(of) + static_cast<std::int64_t>(i) * strides.at(static_cast<std::size_t>(operand));
    void* on_device = nullptr;
    CUFAULT_REQUIRE(cudaMalloc(&on_device, all.size() * sizeof(float*)));
    CUFAULT_REQUIRE(cudaMemcpy(on_device, all.data(), all.size() * sizeof(float*), cudaMemcpyDefault));
    return static_cast<float**>(on_device);
  }
  template <class Part>
  product_result in_parts(std::int64_t at_a_time, Part part) {
    return p_.by([&] {
      auto status = CUBLAS_STATUS_SUCCESS;
      const std::int64_t all = p_.described().batch;
      for (std::int64_t first = 0; first < all && status == CUBLAS_STATUS_SUCCESS; first += at_a_time)
        status = part(first, static_cast<int>(std::min(at_a_time, all - first)));
      return status;
    });
  }

  checked_product p_;
  float **a_, **b_, **c_;
};

void multiply_many(cublasHandle_t handle, cublasLtHandle_t lt, std::int64_t count) {
  many products(count);
  const auto row = [&](const char* function, auto call) {
    observe_call({function, fmt::format("{}_products", count)}, call);
  };
  row("cublasSgemmStridedBatched", [&] { return products.strided(handle, count); });
  row("cublasSgemmBatched", [&] { return products.by_pointers(handle, count); });
  row("cublasGemmStridedBatchedEx", [&] { return products.by_gemm_ex(handle); });
  row("cublasLtMatmul", [&] { return products.by_lt(lt); });
}

constexpr std::array too_many{most_in_grid + 1, std::int64_t{70'000}};

// ---- counts ----

/// Counts in the layouts of A, B and C. D has the layout of C.
struct counts {
  const char* words;
  std::int32_t a, b, c;
};
constexpr counts all_two{"2 on A, B and C", 2, 2, 2};
constexpr std::array differing_counts{
    counts{"2 on A alone", 2, 1, 1}, counts{"2 on A and C, 1 on B", 2, 1, 2},
    counts{"2 on B and C, 1 on A", 1, 2, 2}, counts{"2 on A and B, 1 on C", 2, 2, 1}};

/// Intends two products, with memory for both, whatever the counts say.
void multiply_batch(cublasLtHandle_t lt, const counts& said) {
  argument_check::product two;
  two.m = 96, two.n = 80, two.k = 64, two.batch = 2;
  checked_product p(two);
  lt_problem problem(p.described());
  const auto count = [](cublasLtMatrixLayout_t layout, std::int32_t matrices) {
    set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrices);
  };
  count(problem.a(), said.a);
  count(problem.b(), said.b);
  count(problem.c(), said.c);
  observe_call(product_named(fmt::format("batch count {}", said.words)),
               [&] { return p.by_lt(lt, nullptr, 0, &problem); });
}

void multiply_differing_counts(cublasLtHandle_t lt) {
  for (const counts& said : differing_counts) multiply_batch(lt, said);
}

// ---- one column of C ----

struct broadcast {
  const char* type_name;
  cudaDataType type;
};
constexpr std::array broadcasts{broadcast{"FP32", CUDA_R_32F}, broadcast{"FP16", CUDA_R_16F}};

enum class c_is { one_column, written_out };

/// The smallest, and one that fills a GPU and so uses other kernels. Sums stay exact up to this k.
constexpr std::array broadcast_extents{extents{96, 80, 64}, extents{1024, 768, 64}};

/// By each algorithm of the heuristic without a workspace, up to the first failure.
product_result by_every_algorithm(cublasLtHandle_t lt, lt_problem& problem, chosen_product& sum,
                                  const void* c) {
  product_result result;
  result.status = problem.heuristic(lt);
  if (result.status == CUBLAS_STATUS_SUCCESS && problem.results().empty())
    result.status = CUBLAS_STATUS_NOT_SUPPORTED;
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  for (const auto& each : problem.results()) {
    result = sum.by([&] { return problem.multiply(lt, sum.with_c(c), &each.algo, nullptr, 0); });
    if (!result.ok()) break;
  }
  return result;
}

/// D = A B + the same column for each column of D.
void multiply_and_add_column(cublasLtHandle_t lt, const broadcast& of, const extents& size, c_is how) {
  argument_check::product described;
  auto& p = described;
  p.m = size.m, p.n = size.n, p.k = size.k;
  p.a.type = p.b.type = p.c.type = of.type;
  p.a.leading_dimension = p.c.leading_dimension = p.m;
  p.b.leading_dimension = p.k;
  const auto elements = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
  };
  const auto of_a = small_numbers(elements(p.m, p.k), fresh_seed());
  const auto of_b = small_numbers(elements(p.k, p.n), fresh_seed());
  const auto column = small_numbers(elements(p.m, 1), fresh_seed());
  std::vector<double> columns(elements(p.m, p.n));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = column[i % column.size()];

  constexpr double beta = 1;
  chosen_product sum(described, of_a, of_b, multiplied(described, 1, of_a, of_b, beta, columns), beta);
  lt_problem problem(sum.described());
  problem.own_d();  // separate, before C's layout changes
  if (how == c_is::one_column) set_attribute(problem.c(), CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{0});
  const auto& content = how == c_is::one_column ? column : columns;
  guarded_array c(of.type, content.size());
  c.put(content);
  const std::string words = fmt::format("{} {} by {} with {} of C", of.type_name, size.m, size.n,
                                        how == c_is::one_column ? "one column" : "every column");
  observe_call(product_named(words), [&] { return by_every_algorithm(lt, problem, sum, c.data()); });
}

void multiply_and_add_columns(cublasLtHandle_t lt, c_is how) {
  for (const extents& size : broadcast_extents)
    for (const broadcast& of : broadcasts) multiply_and_add_column(lt, of, size, how);
}

// ---- arms ----

void control(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  multiply_many(new_handle(), lt, most_in_grid);
  multiply_batch(lt, all_two);
  multiply_and_add_columns(lt, c_is::written_out);
}

void more_than_65535(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  const cublasLtHandle_t lt = new_lt_handle();
  for (const std::int64_t count : too_many) multiply_many(handle, lt, count);
}

void different_counts(trial& t) {
  t.open_context();
  multiply_differing_counts(new_lt_handle());
}

void one_column_of_c(trial& t) {
  t.open_context();
  multiply_and_add_columns(new_lt_handle(), c_is::one_column);
}

void fewer_at_a_time(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  const cublasLtHandle_t lt = new_lt_handle();
  for (const std::int64_t count : too_many) multiply_many(handle, lt, count);
  t.apply("65535 products at most at a time");
  for (const std::int64_t count : too_many) {
    many products(count);
    CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "in_parts", products.strided(handle, most_in_grid));
    CUFAULT_OBSERVE_AS("cublasSgemmBatched", "in_parts", products.by_pointers(handle, most_in_grid));
  }
}

void same_counts(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  multiply_differing_counts(lt);
  t.apply("the count on every description");
  multiply_batch(lt, all_two);
}

void write_c_out(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  multiply_and_add_columns(lt, c_is::one_column);
  t.apply("every column of C written out");
  multiply_and_add_columns(lt, c_is::written_out);
}

void batches(failure_case& c) {
  c.control("65535 products, a batch of two, and every column of C", control);

  c.fault("more_than_65535", "65536 and 70000 products in a call", more_than_65535);
  c.fault("different_counts", "counts of a batch that differ between A, B and C", different_counts);
  c.fault("one_column_of_c", "C with a leading dimension of 0", one_column_of_c);

  c.remedy("fewer_at_a_time", "65535 products at most at a time", fewer_at_a_time);
  c.remedy("same_counts", "the same count on every description", same_counts);
  c.remedy("write_c_out", "every column of C written out", write_c_out);
  c.in_tier = {"control", "different_counts", "one_column_of_c", "same_counts", "write_c_out"};
  c.share_process();
}

const register_case here(
    "types.batches",
    "more products in a batch than a grid has room for, counts that differ, one column of C for all",
    {"F-NS-14", "F-ARG-13", "RN-05", "RN-11"}, batches);

}  // namespace
}  // namespace cufault
