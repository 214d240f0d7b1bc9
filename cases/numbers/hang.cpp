// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product of 8-bit floating-point numbers that never ends.
// Why          A defect of one algorithm.
// Documented   Release notes (CUB-9627): CUBLASLT_ALGO_CONFIG_ID 66 on compute capability 9.0 with 8-bit A and B, where beta is not 0
//              and the scale of C is; resolved in 13.2. Release notes of 13.0: a scale is refused where the type of C takes none.
// What helps   Documented: a beta of 0, which is the same product.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: with a C of BF16, into BF16 and into 8 bits, cublasLtMatmul returns SUCCESS and the
//              wait for it does not end within ten seconds, by the first configuration tried (tile 313, stages 36, K in one part); the
//              scale counts for such a C (with 2 the numbers are right), and a beta of 0 helps. For a C of 8 bits there is no such
//              algorithm.
#include "cases/numbers/configurations.hpp"
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr int m = 64, n = 48, k = 32;  // multiples of 16, as 8-bit types require

/// Types of C and D. Only D may have 8 bits: the documentation lists no such C, though a scale is meant for one.
struct output {
  const char* name;
  cudaDataType c, d;
};
constexpr std::array outputs{output{"bf16", CUDA_R_16BF, CUDA_R_16BF},
                             output{"bf16_to_fp8", CUDA_R_16BF, CUDA_R_8F_E4M3}};

/// D = A^T B + beta scale C of small whole numbers, rounded once, into D.
class scaled_product {
 public:
  explicit scaled_product(const output& types) : types_(types), c_(types.c, m * n), d_(types.d, m * n) {
    a_.put(of_a_);
    b_.put(of_b_);
    c_.put(of_c_);
  }

  [[nodiscard]] argument_check::product described() const {
    argument_check::product p;
    p.a_op = CUBLAS_OP_T;
    p.m = m, p.n = n, p.k = k;
    p.a = {a_.data(), CUDA_R_8F_E4M3, k};
    p.b = {b_.data(), CUDA_R_8F_E4M3, k};
    p.c = {c_.data(), types_.c, m};
    return p;
  }

  /// Null without a scale, which then is 1.
  const void* scale_in_memory(std::optional<double> scale) {
    scale_number_ = scale.value_or(1);
    if (!scale) return nullptr;
    scale_.put(std::array{*scale});
    return scale_.data();
  }

  cublasStatus_t start(const workbench& on, const lt_problem& problem, const cublasLtMatmulAlgo_t& algorithm,
                       float beta) {
    const float alpha = 1;
    d_.poison();
    return multiply_by(on, problem, {&alpha, a_.data(), b_.data(), &beta, c_.data(), d_.data()}, algorithm);
  }
  /// Waits for the product.
  product_result finish(cublasStatus_t status, float beta) {
    const auto exact = multiplied(described(), 1, of_a_, of_b_, beta * scale_number_, of_c_);
    return compared(status, d_, decoded(types_.d, encoded(types_.d, exact)));
  }

 private:
  output types_;
  guarded_array a_{CUDA_R_8F_E4M3, m*k}, b_{CUDA_R_8F_E4M3, k*n}, c_, d_, scale_{CUDA_R_32F, 1};
  double scale_number_ = 1;
  std::vector<double> of_a_ = small_numbers(a_.size(), fresh_seed()),
                      of_b_ = small_numbers(b_.size(), fresh_seed()),
                      of_c_ = small_numbers(c_.size(), fresh_seed());
};

/// Algorithm 66 on a product of these types.
class bench {
 public:
  explicit bench(const output& types)
      : work_(types), all_(on_.lt, work_.described(), types.d), algorithms_(all_.of(algorithm_66)) {
    if (algorithms_.empty())
      throw not_provoked(
          "cuBLASLt has no algorithm 66 here for these types: it is documented for compute capability 9.0");
  }

  void scale_of_c(std::optional<double> scale) {
    const void* const pointer = work_.scale_in_memory(scale);
    set_attribute(all_.problem().operation(), CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, pointer);
  }

  survey multiply(float beta) {
    return try_each(algorithms_, [&](const cublasLtMatmulAlgo_t& each) {
      return work_.finish(work_.start(on_, all_.problem(), each, beta), beta);
    });
  }

  /// Observes the call and its end separately, to tell which of them hangs, and in which configuration.
  void observe_each(float beta) {
    for (const cublasLtMatmulAlgo_t& each : algorithms_) {
      const cublasStatus_t status =
          observe_call({"cublasLtMatmul", variant_of("by " + description(each))},
                       [&] { return work_.start(on_, all_.problem(), each, beta); });
      const product_result ended =
          CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", work_.finish(status, beta));
      if (ended.waited != cudaSuccess) return;
    }
  }

 private:
  workbench on_;
  scaled_product work_;
  configurations all_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
};

/// A bench on which C supports a scale: tries a scale of 2.
bench with_scale(const output& types) {
  bench b(types);
  b.scale_of_c(2);
  if (const survey tried = b.multiply(1); tried.failed > 0)
    throw not_provoked(fmt::format("a C of this type takes no scale here: {} with a scale of 2",
                                   record_of(tried.first_failing).text()));
  return b;
}

survey multiply_without_scale(bench& b) {
  b.scale_of_c({});
  return b.multiply(1);
}

survey multiply_with_scale_and_beta_of_zero(bench& b) {
  b.scale_of_c(0);
  return b.multiply(0);
}

void control(trial& t) {
  t.open_context();
  bench b(outputs[0]);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "algorithm_66_no_scale_of_c", multiply_without_scale(b));
}

void scale_of_zero(trial& t, const output& types) {
  t.open_context();
  bench b = with_scale(types);
  b.scale_of_c(0);
  b.observe_each(1);
}

void beta_of_zero(trial& t, const output& types) {
  t.open_context();
  bench b = with_scale(types);
  t.apply("a beta of 0");
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "algorithm_66_scale_of_c_0_beta_0",
                     multiply_with_scale_and_beta_of_zero(b));
}

void hang(failure_case& c) {
  constexpr std::chrono::seconds given_up_after{10};
  c.control("beta = 1, and no scale of C", control).timeout = given_up_after;
  for (const output& types : outputs) {
    const std::string name = types.name;
    c.fault("scale_zero_" + name, "beta = 1, and a scale of C of 0", [=](trial& t) {
       scale_of_zero(t, types);
     }).timeout = given_up_after;
    arm& remedy = c.remedy("beta_zero_" + name, "beta = 0, which is the same product",
                           [=](trial& t) { beta_of_zero(t, types); });
    remedy.timeout = given_up_after;
    remedy.against = "scale_zero_" + name;
  }
}

const register_case here("numbers.hang", "an 8-bit product with a C that is scaled by 0", {"RN-04"}, hang);

}  // namespace
}  // namespace cufault
