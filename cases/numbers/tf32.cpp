// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Single-precision products with an error of a thousandth, with CUBLAS_STATUS_SUCCESS.
// Why          TF32 keeps 10 bits after the leading one of each factor, single precision 23. It is allowed by the handle's math mode, by a
//              compute type, or from outside the program.
// Documented   cuBLAS library, cublasMath_t, cublasComputeType_t, 2.1.11 Tensor Core Usage (NVIDIA_TF32_OVERRIDE=0 excludes TF32, whatever
//              the program sets). From compute capability 8.0 on. NVIDIA_TF32_OVERRIDE=1 is not documented, and tried.
// What helps   Documented: the default or the pedantic math mode, a compute type without FAST, NVIDIA_TF32_OVERRIDE=0.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: each of these ways in and out; NVIDIA_TF32_OVERRIDE=1 is a way in, too, with
//              CUBLAS_COMPUTE_32F as well.
#include "cases/numbers/fine_product.hpp"
#include "harness/kit/lt_problem.hpp"

#include <functional>

namespace cufault {
namespace {

struct bench {
  /// In single precision its sums are exact: 4 k is less than 2^11. In TF32 every element misses its 2^-12th.
  fine_product<float, 12> work{product_extents{256, 192, 320}};
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();
};

bench open(trial& t) {
  t.open_context();
  if (t.compute_capability() < 80)
    throw not_provoked("this device has no TF32: use one of compute capability 8.0 or later");
  return {};
}

void by_sgemm(bench& b) {
  CUFAULT_OBSERVE_AS(
      "cublasSgemm", "",
      b.work.whole(sgemm(b.handle, b.work.described(CUBLAS_COMPUTE_32F), b.work.poisoned_c())));
}

void by_gemm_ex(bench& b, cublasComputeType_t compute) {
  CUFAULT_OBSERVE_AS("cublasGemmEx", "",
                     b.work.whole(gemm_ex(b.handle, b.work.described(compute), b.work.poisoned_c())));
}

void by_lt(bench& b, cublasComputeType_t compute) {
  observe_call({"cublasLtMatmul"}, [&] {
    const auto p = b.work.described(compute);
    void* const c = b.work.poisoned_c();
    lt_problem problem(p);
    return b.work.whole(problem.multiply_by_first(b.lt, {p.alpha, p.a.data, p.b.data, p.beta, c, c}));
  });
}

void with_math_mode(bench& b, cublasMath_t mode) {
  CUFAULT_OBSERVE(cublasSetMathMode(b.handle, mode));
  by_sgemm(b);
  by_gemm_ex(b, CUBLAS_COMPUTE_32F);
}

void with_compute_type(bench& b, cublasComputeType_t compute) {
  by_gemm_ex(b, compute);
  by_lt(b, compute);
}

/// Calls like a program that does not mention TF32.
void by_default(trial& t) {
  bench b = open(t);
  by_sgemm(b);
  with_compute_type(b, CUBLAS_COMPUTE_32F);
}

// ---- faults ----

void math_mode(trial& t) {
  bench b = open(t);
  with_math_mode(b, CUBLAS_TF32_TENSOR_OP_MATH);
}

void compute_type(trial& t) {
  bench b = open(t);
  with_compute_type(b, CUBLAS_COMPUTE_32F_FAST_TF32);
}

// ---- remedies ----

void other_math_mode(trial& t, cublasMath_t mode, const char* words) {
  bench b = open(t);
  with_math_mode(b, CUBLAS_TF32_TENSOR_OP_MATH);
  t.apply(words);
  with_math_mode(b, mode);
}

void other_compute_type(trial& t, cublasComputeType_t compute, const char* words) {
  bench b = open(t);
  with_compute_type(b, CUBLAS_COMPUTE_32F_FAST_TF32);
  t.apply(words);
  with_compute_type(b, compute);
}

void tf32(failure_case& c) {
  // Removes settings of the surrounding environment from the arms.
  const auto add = [&](const char* name, arm_kind kind, const char* summary,
                       const std::function<void(trial&)>& body, const char* override_to = "") -> arm& {
    arm& a = c.add(name, kind, summary, body);
    a.environment["NVIDIA_TF32_OVERRIDE"] = override_to;
    return a;
  };
  const auto ruled_out = [](void (*work)(trial&)) {
    return [=](trial& t) {
      t.apply("NVIDIA_TF32_OVERRIDE=0 in the environment");
      work(t);
    };
  };
  const auto with_mode = [](cublasMath_t mode, const char* words) {
    return [=](trial& t) { other_math_mode(t, mode, words); };
  };
  const auto with_type = [](cublasComputeType_t type, const char* words) {
    return [=](trial& t) { other_compute_type(t, type, words); };
  };

  add("control", arm_kind::control, "a new handle, and CUBLAS_COMPUTE_32F", by_default);
  add("math_mode", arm_kind::fault, "CUBLAS_TF32_TENSOR_OP_MATH", math_mode);
  add("compute_type", arm_kind::fault, "CUBLAS_COMPUTE_32F_FAST_TF32", compute_type);
  add("override_1", arm_kind::fault, "nothing said in the program, NVIDIA_TF32_OVERRIDE=1 outside",
      by_default, "1");
  add("default_mode", arm_kind::remedy, "back to the default math mode",
      with_mode(CUBLAS_DEFAULT_MATH, "CUBLAS_DEFAULT_MATH"));
  add("pedantic_mode", arm_kind::remedy, "the pedantic math mode",
      with_mode(CUBLAS_PEDANTIC_MATH, "CUBLAS_PEDANTIC_MATH"));
  add("plain_type", arm_kind::remedy, "the plain compute type",
      with_type(CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"));
  add("pedantic_type", arm_kind::remedy, "the pedantic compute type",
      with_type(CUBLAS_COMPUTE_32F_PEDANTIC, "CUBLAS_COMPUTE_32F_PEDANTIC"));
  add("override_0", arm_kind::remedy, "the math mode, with NVIDIA_TF32_OVERRIDE=0 outside",
      ruled_out(math_mode), "0")
      .against = "math_mode";
  add("override_0_type", arm_kind::remedy, "the compute type, with NVIDIA_TF32_OVERRIDE=0 outside",
      ruled_out(compute_type), "0")
      .against = "compute_type";
  c.in_tier = {"control", "math_mode", "default_mode", "override_0"};
  c.share_process();
}

const register_case here("numbers.tf32", "single-precision products in TF32, which keeps fewer digits",
                         {"F-NUM-02"}, tf32);

}  // namespace
}  // namespace cufault
