// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products by alpha and beta: of another type than the compute type reads, so that one is zero or garbage; a beta near zero
//              with an uninitialised C; products of 8-bit integers by 2; null instead of a scalar.
// Why          Scalars are passed as pointers without a type, and the compute type decides how many bytes are read. Only with a beta of
//              exactly zero is C not read: anything else times NaN is NaN.
// Documented   cuBLAS documentation, cublasGemmEx: the scale type of each compute type; cublas<t>gemm and its like: with a beta
//              of 0, C need not be a valid input. Release notes (RN-15, CUB-8873): with 8-bit integers and 32-bit integer scalars,
//              alpha and beta must be 0 or 1. Reported: zeros and garbage with CUBLAS_STATUS_SUCCESS, FasterTransformer#49,
//              DeepLearningExamples#143, cudarc#151; NaN by way of beta, rocBLAS#125, rocBLAS#538.
// Measured     H200, cuBLAS 13.1.0: scalars of the wrong type are SUCCESS with zeros or garbage, from both libraries; argument_check
//              finds all 12. A beta of 1e-37 keeps NaN; of 0 it does not, in device memory either. 8-bit integers by 2, by -1 and
//              with a beta of 2 are accepted, and right. Null for alpha or beta, of which the documentation says INVALID_VALUE, ends
//              the process: SIGSEGV.
// What helps   Tried: scalars of the compute type, or a compute type for the scalars; a beta of exactly 0, or a cleared C; an alpha
//              of 1. How many of the wrong types harness/include/cufault/argument_check.hpp finds before the call is counted.
#include "cases/types/product_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cufault {
namespace {

using namespace product_table;

constexpr std::array both_functions{entry::cublas, entry::cublas_lt};

// ---- alpha and beta of the wrong type ----

/// Operands with the scalars that their compute type reads, and what programs pass instead.
struct mistake {
  const char* compute;
  element_types types;
  cudaDataType passed;
};
constexpr std::array mistakes{
    mistake{"16F", {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F}, CUDA_R_32F},
    mistake{"32F", {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F}, CUDA_R_16F},
    mistake{"32F", {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}, CUDA_R_64F},
    mistake{"32F", {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}, CUDA_R_32I},
    mistake{"64F", {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F}, CUDA_R_32F},
    mistake{"32I", {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}, CUDA_R_32F}};

/// The caller's view: alpha and beta have the type `passed`.
argument_check::product as_passed(entry function, const element_types& types, cudaDataType passed) {
  auto p = turned_product(function, types);
  p.scalar = passed;
  return p;
}

bool is_all_zero(const checked_product& work) {
  const auto numbers = work.c.get();
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
}

/// Passes `types` to the library, but alpha and beta of type `passed`, which the library cannot know.
status_record multiply(const workbench& on, entry function, const element_types& types, cudaDataType passed) {
  checked_product work(as_passed(function, types, passed));
  product_result result;
  if (function == entry::cublas_lt) {
    lt_problem problem(turned_product(function, types));
    result = work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
  } else {
    result = work.by_gemm_ex(on.handle);
  }
  status_record came_to = record_of(result);
  if (came_to.numbers == numbers_found::wrong && is_all_zero(work)) came_to.facts["all_zero"] = true;
  return came_to;
}

row scalar_row(entry function, const mistake& m, cudaDataType passed) {
  const std::string words = fmt::format("{} {} COMPUTE_{} alpha {}", name_of(function),
                                        argument_check::detail::type_name(m.types.a), m.compute,
                                        argument_check::detail::type_name(passed));
  return call_row(named_by_words(words),
                  [=](const workbench& on) { return multiply(on, function, m.types, passed); });
}

enum class scalars { as_passed, as_read };

rows scalar_rows(scalars which) {
  return rows_for(both_functions, [=](entry function) {
    return rows_for(mistakes, [=](const mistake& m) {
      return scalar_row(function, m, which == scalars::as_passed ? m.passed : m.types.scalar);
    });
  });
}

void wrong_type(trial& t) {
  observe_rows(new_workbench(t), scalar_rows(scalars::as_passed));
  std::size_t found = 0;
  for (const entry function : both_functions)
    for (const mistake& m : mistakes) {
      const auto problems = argument_check::check(as_passed(function, m.types, m.passed));
      found +=
          std::any_of(problems.begin(), problems.end(), [](const auto& p) { return p.argument == "alpha"; });
    }
  t.measure("wrong types that argument_check finds", static_cast<double>(found),
            fmt::format("of {}", both_functions.size() * mistakes.size()));
}

// ---- null ----

status_record multiply_by_null(const workbench& on, entry function, const element_types& types,
                               bool null_alpha) {
  checked_product work(turned_product(function, types));
  if (function == entry::cublas_lt) {
    lt_problem problem(work.described());
    lt_operands operands = work.operands();
    (null_alpha ? operands.alpha : operands.beta) = nullptr;
    return record_of(work.by(
        [&] { return problem.multiply_by_first(on.lt, operands, on.workspace, on.workspace_bytes); }));
  }
  auto told = work.described();
  (null_alpha ? told.alpha : told.beta) = nullptr;
  return record_of(work.by([&] { return gemm_ex(on.handle, told, work.c.data()); }));
}

/// One compute type stands for all: a crashing row takes a second or two.
rows null_rows() {
  return rows_for(both_functions, [](entry function) {
    return rows_for(std::array{true, false}, [=](bool alpha) {
      const mistake& single = mistakes[2];
      return call_row(
          named_by_words(fmt::format("{} COMPUTE_{} {} null", name_of(function), single.compute,
                                     alpha ? "alpha" : "beta")),
          [=](const workbench& on) { return multiply_by_null(on, function, single.types, alpha); });
    });
  });
}

// ---- products of integers ----

rows integer_rows(double alpha, double beta) {
  return rows_for(both_functions, [=](entry function) {
    return call_row(
        named_by_words(fmt::format("{} COMPUTE_32I alpha {} beta {}", name_of(function), alpha, beta)),
        [=](const workbench& on) {
          checked_product work(turned_product(function, mistakes.back().types),
                               {.off_by = {}, .alpha = alpha, .beta = beta});
          return function == entry::cublas_lt ? work.by_lt(on.lt, on.workspace, on.workspace_bytes)
                                              : work.by_gemm_ex(on.handle);
        });
  });
}

// ---- beta, and a C of NaN ----

/// Alpha, beta and the pointer mode of a product in single precision.
struct single_scalars {
  const float *alpha, *beta;
  cublasPointerMode_t where;
};

cublasStatus_t by_gemm_ex(const workbench& on, const checked_product& work, const single_scalars& by) {
  cublasSetPointerMode(on.handle, by.where);
  auto told = work.described();
  told.alpha = by.alpha, told.beta = by.beta;
  return gemm_ex(on.handle, told, work.c.data());
}

cublasStatus_t by_sgemv(const workbench& on, const checked_product& work, const single_scalars& by) {
  cublasSetPointerMode(on.handle, by.where);
  const auto at = [](const guarded_array& of) { return static_cast<float*>(of.data()); };
  const int m = static_cast<int>(work.described().m), k = static_cast<int>(work.described().k);
  return cublasSgemv(on.handle, CUBLAS_OP_T, k, m, by.alpha, at(work.a), k, at(work.b), 1, by.beta,
                     at(work.c), 1);
}

cublasStatus_t by_lt(const workbench& on, const checked_product& work, const single_scalars& by) {
  lt_problem problem(work.described());
  set_attribute<std::int32_t>(
      problem.operation(), CUBLASLT_MATMUL_DESC_POINTER_MODE,
      by.where == CUBLAS_POINTER_MODE_DEVICE ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST);
  lt_operands operands = work.operands();
  operands.alpha = by.alpha, operands.beta = by.beta;
  return problem.multiply_by_first(on.lt, operands, on.workspace, on.workspace_bytes);
}

struct route {
  const char* name;
  int columns;  // of C
  cublasStatus_t (*call)(const workbench&, const checked_product&, const single_scalars&);
};
constexpr std::array routes{route{"cublasGemmEx", 48, by_gemm_ex}, route{"cublasSgemv", 1, by_sgemv},
                            route{"cublasLtMatmul", 48, by_lt}};

/// A beta, and whether C is cleared or NaN before. The right result is that with a beta of 0. The beta near zero is a normal number, since
/// kernels may treat a denormal one as zero.
struct start {
  const char* words;
  float beta;
  bool cleared = false;
  cublasPointerMode_t where = CUBLAS_POINTER_MODE_HOST;
};
constexpr start zero{"beta 0", 0}, nearly_zero{"beta 1e-37", 1e-37F},
    nearly_zero_on_cleared{"beta 1e-37, C cleared", 1e-37F, true},
    zero_on_device{"beta 0 in device memory", 0, false, CUBLAS_POINTER_MODE_DEVICE};

status_record multiply_from(const workbench& on, const route& by, const start& from) {
  constexpr int m = 32, k = 64;
  checked_product work(
      turned_product(entry::cublas, {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F}, {m, by.columns, k}));
  const std::array host{1.0F, from.beta};
  guarded_array device(CUDA_R_32F, host.size());
  device.put(std::array<double, 2>{host[0], host[1]});
  const auto* const scalars =
      from.where == CUBLAS_POINTER_MODE_HOST ? host.data() : static_cast<const float*>(device.data());
  return record_of(work.by([&] {
    if (from.cleared) work.c.put(std::vector<double>(work.c.size()));
    return by.call(on, work, {scalars, scalars + 1, from.where});
  }));
}

rows beta_rows(const start& from) {
  return rows_for(routes, [=](const route& by) {
    return call_row(named_by_words(fmt::format("{} {}", by.name, from.words)),
                    [=](const workbench& on) { return multiply_from(on, by, from); });
  });
}

// ---- the case ----

failure_case types_of_scalars() {
  product_case c("types.scalars", "alpha and beta of the wrong type, nearly zero, not 0 or 1, or null",
                 {"F-ARG-06", "F-ARG-11", "RN-15"});
  c.control("scalars of the compute type; a beta of 0 with a C of NaN",
            scalar_rows(scalars::as_read) + beta_rows(zero) + beta_rows(nearly_zero_on_cleared));

  c.add("wrong_type", arm_kind::fault, "scalars of another type than the compute type reads", wrong_type);
  c.fault("nearly_zero_beta", "a beta of 1e-37 with a C of NaN", beta_rows(nearly_zero));
  c.fault("zero_beta_on_device", "a beta of 0 in device memory with a C of NaN", beta_rows(zero_on_device));
  c.fault("integers", "8-bit integers by scalars of 0, 1 and others",
          integer_rows(1, 1) + integer_rows(0, 1) + integer_rows(2, 0) + integer_rows(1, 2) +
              integer_rows(-1, 0));
  c.fault_apart("null", "null for alpha or beta", null_rows());

  c.remedy("scalars_of_compute_type", "wrong scalars, then of the compute type",
           scalar_rows(scalars::as_passed), "scalars of the type that the compute type reads",
           scalar_rows(scalars::as_read));
  const auto halves_by_singles = [](const mistake& computed) {
    return rows_for(both_functions,
                    [&](entry function) { return scalar_row(function, computed, CUDA_R_32F); });
  };
  c.remedy("compute_type_of_scalars", "COMPUTE_16F by single-precision scalars, then COMPUTE_32F",
           halves_by_singles(mistakes[0]), "CUBLAS_COMPUTE_32F, and the scalars stay as they are",
           halves_by_singles(mistakes[1]));
  c.remedy("zero_beta", "a beta of 1e-37 with a C of NaN, then of exactly 0", beta_rows(nearly_zero),
           "a beta of exactly 0", beta_rows(zero));
  c.remedy("cleared_c", "a beta of 1e-37 with a C of NaN, then with a C of zeros", beta_rows(nearly_zero),
           "clear C before, and keep beta", beta_rows(nearly_zero_on_cleared));
  c.remedy("integers_by_one", "8-bit integers by an alpha of 2, then of 1", integer_rows(2, 0),
           "an alpha of 1: whoever wants twice the product doubles it", integer_rows(1, 0));
  c.in_tier = {"control", "wrong_type", "integers", "scalars_of_compute_type", "zero_beta"};
  c.share_process({"null"});
  return c.done();
}

const register_case here{types_of_scalars()};

}  // namespace
}  // namespace cufault
