// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Half-precision products with a long k, accumulated in single precision as asked: infinity, NaN or too few digits,
//              with CUBLAS_STATUS_SUCCESS.
// Why          k is split. If partial sums are kept in the output's type, a sum beyond 65504 becomes infinity. One of more than 11 bits
//              loses the rest, even if the other parts would have cancelled it.
// Documented   cuBLAS library, 2.1.10 GEMM Algorithms Numerical Behavior, cublasMath_t, cublasLtReductionScheme_t. pytorch#67946,
//              #153095 and #92599, TransformerEngine#3440.
// What helps   Documented: CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION; with cuBLASLt, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
//              or a configuration that adds up in the compute type.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0. cuBLASLt with each algorithm that is configured to add up the parts in the output's
//              type, or in place: wrong numbers. cublasGemmEx in the default math mode: right numbers. The algorithms that the heuristic
//              proposes for these shapes: right numbers; all of them split k and add up in the compute type. With a mask of OUTPUT_TYPE
//              alone the heuristic proposes only algorithms that do not split k.
#include "cases/numbers/configurations.hpp"
#include "harness/kit/checked_product.hpp"
#include "kernels/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;

/// A product in which the second half of every sum cancels the first, except for one small term. In single precision every order of the sum
/// is exact: all terms are multiples of a power of two, below 2^23 of them. In half precision the sum of a half is infinite in even rows
/// (2^20), and loses the small term in odd ones (2^14). Small terms are odd multiples of one step, so that any of them is lost alike.
class cancelling_product {
 public:
  cancelling_product(const product_extents& extents, cudaDataType output)
      : extents_(extents),
        output_(output),
        a_(CUDA_R_16F, std::size_t(extents.m) * extents.k),
        b_(CUDA_R_16F, std::size_t(extents.k) * extents.n),
        c_(output, std::size_t(extents.m) * extents.n) {
    const auto [m, n, k] = extents_;
    const double term = 32768.0 / k;  // k / 2 of them sum to 2^14
    std::vector<double> a(a_.size()), b(b_.size());
    expected_.resize(c_.size());
    const std::uint64_t seed = fresh_seed();
    for (int i = 0; i < m; ++i) {
      const bool even = i % 2 == 0;
      const double large = even ? 64 : 1;
      const double odd = 1 + 2 * std::floor(2 * (random_element(seed, i) + 1.0));  // 1, 3, 5 or 7
      const double small = even ? odd : odd / 32;
      for (int l = 0; l < k; ++l) a[std::size_t(l) * m + i] = l == 0 ? large + small : large;
      for (int j = 0; j < n; ++j) expected_[std::size_t(j) * m + i] = small * term;
    }
    for (std::size_t l = 0; l < b.size(); ++l)
      b[l] = static_cast<int>(l % std::size_t(k)) < k / 2 ? term : -term;
    a_.put(a);
    b_.put(b);
  }

  [[nodiscard]] argument_check::product described() const {
    argument_check::product p;
    p.m = extents_.m, p.n = extents_.n, p.k = extents_.k;
    p.a = {a_.data(), CUDA_R_16F, extents_.m};
    p.b = {b_.data(), CUDA_R_16F, extents_.k};
    p.c = {c_.data(), output_, extents_.m};
    p.alpha = &one, p.beta = &zero;
    return p;
  }

  product_result by_gemm_ex(cublasHandle_t handle) {
    c_.poison();
    return compared(gemm_ex(handle, described(), c_.data()), c_, expected_);
  }

  product_result by_lt(const workbench& on, const lt_problem& problem,
                       const cublasLtMatmulAlgo_t& algorithm) {
    c_.poison();
    const lt_operands operands{&one, a_.data(), b_.data(), &zero, c_.data(), c_.data()};
    return compared(multiply_by(on, problem, operands, algorithm), c_, expected_);
  }

  /// Counts the wrong elements in C.
  [[nodiscard]] fact_map how_wrong() const {
    const auto found = c_.get();
    std::int64_t not_finite = 0;
    const auto wrong = differing(expected_, found);
    for (const std::size_t i : wrong) not_finite += std::isfinite(found[i]) ? 0 : 1;
    return {{"not_finite_elements", not_finite}, {"other_wrong_elements", std::ssize(wrong) - not_finite}};
  }

 private:
  product_extents extents_;
  cudaDataType output_;
  guarded_array a_, b_, c_;
  std::vector<double> expected_;
};

/// Few elements and a long k: worth splitting.
constexpr std::array shapes{product_extents{64, 64, 4096}, product_extents{64, 64, 16384},
                            product_extents{16, 16, 65536}};

void gemm_ex_of_each_shape(cublasHandle_t handle, cudaDataType output = CUDA_R_16F) {
  for (const product_extents& shape : shapes)
    observe_call({"cublasGemmEx", variant_of(fmt::format("k = {}", shape.k))}, [&] {
      cancelling_product p(shape, output);
      product_with_facts seen{.result = p.by_gemm_ex(handle)};
      if (record_of(seen.result).numbers == numbers_found::wrong) seen.facts = p.how_wrong();
      return seen;
    });
}

void add(survey& s, const cancelling_product& p, const cublasLtMatmulAlgo_t& algorithm,
         const product_result& result) {
  fact_map facts = facts_of(algorithm);
  if (record_of(result).numbers == numbers_found::wrong) facts.merge(p.how_wrong());
  s.add(facts, result);
}

/// One configuration of every algorithm that can add up the parts in that way.
survey multiply_by_each_algorithm(const workbench& on, const split& how) {
  cancelling_product p(shapes[1], CUDA_R_16F);
  configurations all(on.lt, p.described());
  survey s;
  for (const int id : all.algorithms())
    for (const cublasLtMatmulAlgo_t& each : all.of(id, how, 1)) {
      add(s, p, each, p.by_lt(on, all.problem(), each));
      if (s.over()) return s;
    }
  if (s.tried == 0)
    throw not_provoked(fmt::format("no algorithm adds up {} parts of a half-precision product by scheme {}",
                                   how.parts, static_cast<int>(how.scheme)));
  return s;
}

/// All proposals of the heuristic for a shape under a mask of schemes. Counts those that split k, and those that add up in half precision.
survey multiply_as_proposed(const workbench& on, const product_extents& shape, std::uint32_t mask) {
  cancelling_product p(shape, CUDA_R_16F);
  lt_problem problem(p.described());
  set_attribute(problem.preference(), CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, mask);
  survey s;
  s.first_failing.status = problem.heuristic(on.lt, workbench::workspace_bytes);
  if (s.first_failing.status == CUBLAS_STATUS_SUCCESS && problem.results().empty())
    s.first_failing.status = CUBLAS_STATUS_NOT_SUPPORTED;
  int split = 0, in_half = 0;
  for (const auto& proposed : problem.results()) {
    const auto scheme = configured<std::uint32_t>(proposed.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    const bool is_split = parts_of(proposed.algo) > 1;
    split += is_split ? 1 : 0;
    in_half += is_split && scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? 1 : 0;
    add(s, p, proposed.algo, p.by_lt(on, problem, proposed.algo));
    if (s.over()) break;
  }
  const auto measure = [&, words = fmt::format("k = {}, mask {}", shape.k, mask)](const char* what,
                                                                                  auto count) {
    trial::current().measure(fmt::format("{}: {}", words, what), static_cast<double>(count));
  };
  measure("proposals", problem.results().size());
  measure("proposals that split k", split);
  measure("proposals that add up the parts in half precision", in_half);
  return s;
}

void every_shape_as_proposed(const workbench& on, std::uint32_t mask) {
  for (const product_extents& shape : shapes)
    CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_proposal", multiply_as_proposed(on, shape, mask));
}

void split_k_in_two_and_four(const workbench& on, cublasLtReductionScheme_t scheme) {
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_algorithm_in_2_parts",
                     multiply_by_each_algorithm(on, {2, scheme}));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_algorithm_in_4_parts",
                     multiply_by_each_algorithm(on, {4, scheme}));
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  const workbench on;
  gemm_ex_of_each_shape(on.handle, CUDA_R_32F);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_algorithm_unsplit", multiply_by_each_algorithm(on, {}));
}

// ---- faults ----

void by_gemm_ex(trial& t) {
  t.open_context();
  gemm_ex_of_each_shape(new_handle());
}

void by_scheme(trial& t, cublasLtReductionScheme_t scheme) {
  t.open_context();
  split_k_in_two_and_four(workbench{}, scheme);
}

void as_proposed(trial& t) {
  t.open_context();
  every_shape_as_proposed(workbench{}, CUBLASLT_REDUCTION_SCHEME_MASK);
}

// ---- remedies ----

void disallow(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  gemm_ex_of_each_shape(handle);
  t.apply("cublasSetMathMode with CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION");
  CUFAULT_OBSERVE(cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  gemm_ex_of_each_shape(handle);
}

void compute_type(trial& t) {
  t.open_context();
  const workbench on;
  split_k_in_two_and_four(on, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  t.apply("CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE in the configuration");
  split_k_in_two_and_four(on, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

void scheme_mask(trial& t, std::uint32_t before, const char* words) {
  t.open_context();
  const workbench on;
  every_shape_as_proposed(on, before);
  t.apply(words);
  every_shape_as_proposed(on, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

void reduced_precision(failure_case& c) {
  const auto with = [](cublasLtReductionScheme_t scheme) { return [=](trial& t) { by_scheme(t, scheme); }; };
  const auto masked = [](std::uint32_t before, const char* words) {
    return [=](trial& t) { scheme_mask(t, before, words); };
  };
  c.control("the same numbers into single precision, and unsplit", control);
  c.fault("gemm_ex", "cublasGemmEx in the default math mode", by_gemm_ex);
  c.fault("output_type", "parts kept in the output's type, with each algorithm that can",
          with(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  c.fault("in_place", "parts added up in the output, with each algorithm that can",
          with(CUBLASLT_REDUCTION_SCHEME_INPLACE));
  c.fault("as_proposed", "whatever the heuristic of cuBLASLt proposes", as_proposed);
  c.remedy("disallow", "the math mode that rules it out", disallow);
  c.remedy("compute_type", "parts kept in the compute type", compute_type);
  c.remedy("scheme_mask", "a mask in the preference, in place of none",
           masked(CUBLASLT_REDUCTION_SCHEME_MASK, "a mask of COMPUTE_TYPE alone in the preference"));
  c.remedy("other_scheme_mask", "a mask in the preference, in place of one that asks for it",
           masked(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, "a mask of COMPUTE_TYPE instead of OUTPUT_TYPE"));
  c.in_tier = {"control", "output_type", "disallow", "compute_type"};
  c.share_process();
}

const register_case here("numbers.reduced_precision",
                         "half-precision products with a long k whose parts are added up in half precision",
                         {"F-NUM-01"}, reduced_precision);

}  // namespace
}  // namespace cufault
