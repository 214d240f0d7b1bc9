// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Single-precision products with an error of a thousandth, with CUBLAS_STATUS_SUCCESS.
// Why          TF32 keeps 10 bits behind the leading one of each factor, single precision 23. Somebody allowed it: by the math mode of
//              the handle, by a compute type, or from outside the program.
// Documented   cuBLAS library, cublasMath_t, cublasComputeType_t, 2.1.11 Tensor Core Usage (NVIDIA_TF32_OVERRIDE=0 rules TF32 out,
//              whatever the program says). From compute capability 8.0 on. Of NVIDIA_TF32_OVERRIDE=1 it says nothing: measured here.
// What helps   Documented: the default or the pedantic math mode, a compute type without FAST, NVIDIA_TF32_OVERRIDE=0.
#include "cases/numbers/compared.hpp"
#include "harness/lt_problem.hpp"
#include "kernels/compare.hpp"

#include <cstdint>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;

/// C(i, j) is k u(i) v(j) (1 + 2^-12), of u and v that are 1 or 2. In single precision every order of its sum is exact: all of it
/// are multiples of 2^-12 below 2^11. In TF32 the elements of A, u(i) (1 + 2^-12), become u(i), rounded or cut off, and so every
/// element of C is off by k u(i) v(j) 2^-12.
class fine_product {
 public:
  fine_product() {
    const auto one_or_two = [seed = fresh_seed()](int i) { return random_element(seed, i) < 0 ? 1.0 : 2.0; };
    std::vector<double> a(a_.size()), b(b_.size());
    for (int l = 0; l < k; ++l) {
      for (int i = 0; i < m; ++i) a[l * m + i] = one_or_two(i) * fine;
      for (int j = 0; j < n; ++j) b[j * k + l] = one_or_two(m + j);
    }
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) expected_[j * m + i] = k * one_or_two(i) * one_or_two(m + j) * fine;
    a_.put(a);
    b_.put(b);
  }

  product_result by_sgemm(cublasHandle_t handle) {
    c_.poison();
    return compared(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, static_cast<const float*>(a_.data()), m,
                    static_cast<const float*>(b_.data()), k, &zero, static_cast<float*>(c_.data()), m),
        c_, expected_);
  }

  product_result by_gemm_ex(cublasHandle_t handle, cublasComputeType_t compute) {
    c_.poison();
    return compared(
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a_.data(), CUDA_R_32F, m, b_.data(),
                     CUDA_R_32F, k, &zero, c_.data(), CUDA_R_32F, m, compute, CUBLAS_GEMM_DEFAULT),
        c_, expected_);
  }

  product_result by_lt(cublasLtHandle_t light, cublasComputeType_t compute) {
    c_.poison();
    argument_check::product p;
    p.m = m, p.n = n, p.k = k, p.compute = compute;
    p.a.leading_dimension = m, p.b.leading_dimension = k, p.c.leading_dimension = m;
    lt_problem problem(p);
    cublasStatus_t status = problem.heuristic(light);
    if (status == CUBLAS_STATUS_SUCCESS)
      status =
          problem.multiply(light, {static_cast<const float*>(a_.data()), static_cast<const float*>(b_.data()),
                                   static_cast<float*>(c_.data())});
    return compared(status, c_, expected_);
  }

 private:
  static constexpr int m = 256, n = 192, k = 320;
  static constexpr double fine = 1 + 0x1p-12;
  guarded_array a_{CUDA_R_32F, std::size_t{m} * k}, b_{CUDA_R_32F, std::size_t{k} * n},
      c_{CUDA_R_32F, std::size_t{m} * n};
  std::vector<double> expected_ = std::vector<double>(c_.size());
};

struct bench {
  fine_product work;
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t light = new_light_handle();

  explicit bench(trial& t) {
    if (t.compute_capability() < 80)
      throw not_provoked("this device has no TF32: use one of compute capability 8.0 or later");
    require(cublasCreate(&handle));
  }
};

bench open(trial& t) {
  t.open_context();
  return bench(t);
}

product_result sgemm(bench& b) {
  return b.work.by_sgemm(b.handle);
}

product_result gemm_ex(bench& b, cublasComputeType_t compute) {
  return b.work.by_gemm_ex(b.handle, compute);
}

product_result lt_matmul(bench& b, cublasComputeType_t compute) {
  return b.work.by_lt(b.light, compute);
}

void with_math_mode(bench& b, cublasMath_t mode) {
  observe(cublasSetMathMode(b.handle, mode));
  observe(sgemm(b));
  observe(gemm_ex(b, CUBLAS_COMPUTE_32F));
}

void with_compute_type(bench& b, cublasComputeType_t compute) {
  observe(gemm_ex(b, compute));
  observe(lt_matmul(b, compute));
}

/// As a program that says nothing of TF32.
void by_default(trial& t) {
  bench b = open(t);
  observe(sgemm(b));
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

failure_case tf32() {
  failure_case c;
  c.name = "numbers.tf32";
  c.summary = "single-precision products in TF32, which keeps fewer digits";
  c.failures = {"F-NUM-02"};
  // What somebody set for all programs is no part of an arm.
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
  c.quick = {"control", "math_mode", "default_mode", "override_0"};
  return c;
}

const register_case here{tf32()};

}  // namespace
}  // namespace cufault
