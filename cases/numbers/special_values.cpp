// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   NaN that a product should pass on but does not, or should not but does; products over nothing (k = 0).
// Why          Supposed: max(x, 0) takes NaN for less than anything. BLAS does not read A and B if alpha or K is 0; a kernel that
//              multiplies by an alpha of 0 does.
// Documented   cublasLtEpilogue_t: CUBLASLT_EPILOGUE_RELU is max(x, 0). Reported: a NaN becomes 0 (forums.developer.nvidia.com
//              329783). Release notes of CUDA 12.4, known issues: routines of level 2 and 3 may not treat an alpha of 0 as BLAS does
//              where it is in device memory. Release notes of CUDA 12.6 (4614629): a floating-point exception with a K of 0, resolved.
// What helps   Reported: ReLU in a step of its own. By what the note does not say of it: alpha in host memory. K = 0: nothing to remedy;
//              the arm guards against its return.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: with an alpha of 0 an A of NaN makes every element that is written NaN, wherever
//              alpha is, in all routines tried but cublasSgemm and cublasSgemv: host memory does not help. ReLU passes NaN on. With a K
//              of 0 all is right.
#include "harness/kit/checked_product.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace cufault {
namespace {

constexpr int n = 32;  // rows and columns of every matrix
constexpr std::size_t elements = std::size_t{n} * n;
constexpr int row_of_nan = 3;

using numbers = std::vector<double>;

enum class a_holds { numbers, a_row_of_nan, nan };

/// Operands of one type: small whole numbers, except where A is set; scalars in host and device memory.
struct bench {
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();
  cudaDataType type;
  guarded_array a, b, c, device_scalars{CUDA_R_32F, 2};
  numbers of_a = small_numbers(elements, fresh_seed()), of_b = small_numbers(elements, fresh_seed()),
          of_c = small_numbers(elements, fresh_seed());
  std::array<float, 2> host_scalars{};
  bool on_device = false;

  bench(cudaDataType of, a_holds what) : type(of), a(of, elements), b(of, elements), c(of, elements) {
    for (std::size_t i = 0; i < elements; i += n + 1) of_a[i] = 1;  // a triangle that can be solved
    for (std::size_t i = 0; i < elements; ++i)
      if (what == a_holds::nan || (what == a_holds::a_row_of_nan && i % n == row_of_nan)) of_a[i] = NAN;
    a.put(of_a);
    b.put(of_b);
  }

  void scalars(float alpha, float beta, cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST) {
    host_scalars = {alpha, beta};
    device_scalars.put(numbers{alpha, beta});
    on_device = mode == CUBLAS_POINTER_MODE_DEVICE;
    CUFAULT_REQUIRE(cublasSetPointerMode(handle, mode));
  }
  [[nodiscard]] const float* alpha() const {
    return on_device ? static_cast<const float*>(device_scalars.data()) : host_scalars.data();
  }
  [[nodiscard]] const float* beta() const { return alpha() + 1; }
  [[nodiscard]] static float* floats(const guarded_array& of) { return static_cast<float*>(of.data()); }

  /// Makes `call` on C, poisoned first if beta is 0. Facts count wrong numbers and NaN among them.
  template <class Call>
  product_with_facts by(Call&& call, const numbers& expected) {
    if (host_scalars[1] == 0)
      c.poison();
    else
      c.put(of_c);
    product_with_facts told{.result = compared(call(), c, expected)};
    if (record_of(told.result).numbers != numbers_found::wrong) return told;
    const numbers found = c.get();
    const auto wrong = differing(expected, found);
    const auto nan =
        std::count_if(wrong.begin(), wrong.end(), [&](std::size_t i) { return std::isnan(found[i]); });
    told.facts = {{"wrong_elements", std::ssize(wrong)}, {"nan_elements", nan}};
    return told;
  }

  /// C times beta where (row, column) is in `where`, unchanged elsewhere.
  template <class Where>
  [[nodiscard]] numbers scaled(Where&& where) const {
    numbers scaled = of_c;
    for (int column = 0; column < n; ++column)
      for (int row = 0; row < n; ++row)
        if (where(row, column)) scaled[column * n + row] *= host_scalars[1];
    return scaled;
  }
  [[nodiscard]] numbers scaled() const {
    return scaled([](int, int) { return true; });
  }

  [[nodiscard]] argument_check::product described(int k = n) const {
    argument_check::product p;
    p.m = n, p.n = n, p.k = k;
    p.a = {a.data(), type, n}, p.b = {b.data(), type, n}, p.c = {c.data(), type, n};
    p.alpha = alpha(), p.beta = beta();
    return p;
  }
};

// ---- products over k, also k = 0 ----

product_with_facts by_gemm_ex(bench& b, int k, const numbers& expected) {
  return b.by([&] { return gemm_ex(b.handle, b.described(k), b.c.data()); }, expected);
}

product_with_facts by_sgemm(bench& b, int k, const numbers& expected) {
  return b.by([&] { return sgemm(b.handle, b.described(k), b.c.data()); }, expected);
}

/// Two matrices of half as many columns.
product_with_facts sgemm_strided_batched(bench& b, int k, const numbers& expected) {
  return b.by(
      [&] {
        return cublasSgemmStridedBatched(b.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n / 2, k, b.alpha(),
                                         b.floats(b.a), n, 0, b.floats(b.b), n, elements / 2, b.beta(),
                                         b.floats(b.c), n, elements / 2, 2);
      },
      expected);
}

product_with_facts lt_matmul(bench& b, int k, const numbers& expected,
                             std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT) {
  lt_problem problem(b.described(k));
  set_attribute(problem.operation(), CUBLASLT_MATMUL_DESC_POINTER_MODE,
                std::int32_t{b.on_device ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST});
  set_attribute(problem.operation(), CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  return b.by(
      [&] {
        return problem.multiply_by_first(
            b.lt, {b.alpha(), b.a.data(), b.b.data(), b.beta(), b.c.data(), b.c.data()});
      },
      expected);
}

using product_over_k = product_with_facts (*)(bench&, int k, const numbers& expected);

product_with_facts lt_matmul_plain(bench& b, int k, const numbers& expected) {
  return lt_matmul(b, k, expected);
}

// ---- alpha = 0: A and B must not be read ----

product_with_facts sgemv(bench& b) {
  const numbers first_column = b.scaled([](int, int column) { return column == 0; });
  return b.by(
      [&] {
        return cublasSgemv(b.handle, CUBLAS_OP_N, n, n, b.alpha(), b.floats(b.a), n, b.floats(b.b), 1,
                           b.beta(), b.floats(b.c), 1);
      },
      first_column);
}

product_with_facts ssymm(bench& b) {
  return b.by(
      [&] {
        return cublasSsymm(b.handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, n, b.alpha(), b.floats(b.a),
                           n, b.floats(b.b), n, b.beta(), b.floats(b.c), n);
      },
      b.scaled());
}

product_with_facts ssyrk(bench& b) {
  const numbers lower = b.scaled([](int row, int column) { return row >= column; });
  return b.by(
      [&] {
        return cublasSsyrk(b.handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, b.alpha(), b.floats(b.a), n,
                           b.beta(), b.floats(b.c), n);
      },
      lower);
}

/// C is the right-hand side: 0 is the solution for any A.
product_with_facts strsm(bench& b) {
  return b.by(
      [&] {
        return cublasStrsm(b.handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, n, n, b.alpha(), b.floats(b.a), n, b.floats(b.c), n);
      },
      numbers(elements, 0));
}

product_with_facts strmm(bench& b) {
  return b.by(
      [&] {
        return cublasStrmm(b.handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, n, n, b.alpha(), b.floats(b.a), n, b.floats(b.b), n,
                           b.floats(b.c), n);
      },
      numbers(elements, 0));
}

struct bench_of_both {
  bench single, half;
  explicit bench_of_both(a_holds what) : single(CUDA_R_32F, what), half(CUDA_R_16F, what) {}
};

void every_routine_of_alpha_zero(bench_of_both& on, cublasPointerMode_t mode) {
  for (bench* b : {&on.single, &on.half}) b->scalars(0, 2, mode);
  bench &single = on.single, &half = on.half;
  CUFAULT_OBSERVE_AS("cublasSgemm", "", by_sgemm(single, n, single.scaled()));
  CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16", by_gemm_ex(half, n, half.scaled()));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_matmul(single, n, single.scaled()));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_first_algorithm", lt_matmul(half, n, half.scaled()));
  CUFAULT_OBSERVE_AS("cublasSgemv", "", sgemv(single));
  CUFAULT_OBSERVE_AS("cublasSsymm", "", ssymm(single));
  CUFAULT_OBSERVE_AS("cublasSsyrk", "", ssyrk(single));
  CUFAULT_OBSERVE_AS("cublasStrsm", "", strsm(single));
  CUFAULT_OBSERVE_AS("cublasStrmm", "", strmm(single));
}

// ---- ReLU ----

numbers product_of(const bench& b) {
  return multiplied(b.described(), 1, b.of_a, b.of_b, 0, b.of_c);
}

double relu(double x) {
  return x < 0 ? 0 : x;
}

numbers relu(numbers of) {
  for (double& x : of) x = relu(x);
  return of;
}

/// A row of NaN in A gives a row of NaN in C, also after ReLU.
product_with_facts multiply_with_relu(bench& b) {
  b.scalars(1, 0);
  const numbers expected = relu(product_of(b));
  product_with_facts told = lt_matmul(b, n, expected, CUBLASLT_EPILOGUE_RELU);
  if (told.result.status != CUBLAS_STATUS_SUCCESS || told.result.waited != cudaSuccess) return told;
  const numbers found = b.c.get();
  std::int64_t made_zero = 0;
  for (std::size_t i = 0; i < elements; ++i) made_zero += std::isnan(expected[i]) && found[i] == 0 ? 1 : 0;
  if (made_zero > 0) told.facts = {{"nan_made_zero", made_zero}, {"nan_expected", std::int64_t{n}}};
  return told;
}

/// The product alone, then ReLU on the host.
product_result multiply_then_relu(bench& b) {
  b.scalars(1, 0);
  const numbers product = product_of(b);
  product_result result = lt_matmul(b, n, product).result;
  if (result.ok()) result.right = differing(relu(product), relu(b.c.get())).empty();
  return result;
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  bench_of_both on(a_holds::numbers);
  every_routine_of_alpha_zero(on, CUBLAS_POINTER_MODE_HOST);
  every_routine_of_alpha_zero(on, CUBLAS_POINTER_MODE_DEVICE);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "epilogue_relu", multiply_with_relu(on.single));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_epilogue_relu", multiply_with_relu(on.half));
}

/// The products of k_zero with a nonzero k. A NaN in A must reach C.
void control_of_products(trial& t) {
  t.open_context();
  for (const a_holds what : {a_holds::numbers, a_holds::a_row_of_nan}) {
    bench_of_both on(what);
    for (bench* b : {&on.single, &on.half}) b->scalars(1, 0);
    bench &single = on.single, &half = on.half;
    CUFAULT_OBSERVE_AS("cublasSgemm", "", by_sgemm(single, n, product_of(single)));
    CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "", sgemm_strided_batched(single, n, product_of(single)));
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16", by_gemm_ex(half, n, product_of(half)));
    CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_matmul(single, n, product_of(single)));
    CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_first_algorithm", lt_matmul(half, n, product_of(half)));
  }
}

// ---- faults ----

void alpha_zero(trial& t, cublasPointerMode_t mode) {
  t.open_context();
  bench_of_both on(a_holds::nan);
  every_routine_of_alpha_zero(on, mode);
}

void relu_of_nan(trial& t) {
  t.open_context();
  bench_of_both on(a_holds::a_row_of_nan);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "epilogue_relu", multiply_with_relu(on.single));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_epilogue_relu", multiply_with_relu(on.half));
}

struct product_over_nothing {
  const char* name;
  product_over_k multiply;
  bool half;
};
constexpr std::array over_nothing{
    product_over_nothing{"cublasSgemm", by_sgemm, false},
    product_over_nothing{"cublasSgemmStridedBatched", sgemm_strided_batched, false},
    product_over_nothing{"cublasGemmEx of halves", by_gemm_ex, true},
    product_over_nothing{"cublasLtMatmul", lt_matmul_plain, false},
    product_over_nothing{"cublasLtMatmul of halves", lt_matmul_plain, true}};

/// Each runs in a process that a floating-point exception may end, once with C doubled and once with C zeroed.
void k_zero(trial& t) {
  constexpr std::array betas{2.0F, 0.0F};
  t.for_each_row(over_nothing.size() * betas.size(), [&]() -> trial::row_function {
    t.open_context();
    const auto on = std::make_shared<bench_of_both>(a_holds::nan);
    return [=](std::size_t row) {
      const product_over_nothing& p = over_nothing.at(row / betas.size());
      const float beta = betas.at(row % betas.size());
      bench& b = p.half ? on->half : on->single;
      b.scalars(1, beta);
      observe_call(named_by_words(fmt::format("{}, K = 0, beta = {}", p.name, beta)),
                   [&] { return p.multiply(b, 0, b.scaled()); });
    };
  });
}

// ---- remedies ----

void host_mode(trial& t) {
  t.open_context();
  bench_of_both on(a_holds::nan);
  every_routine_of_alpha_zero(on, CUBLAS_POINTER_MODE_DEVICE);
  t.apply("alpha and beta in host memory");
  every_routine_of_alpha_zero(on, CUBLAS_POINTER_MODE_HOST);
}

void relu_apart(trial& t) {
  t.open_context();
  bench_of_both on(a_holds::a_row_of_nan);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "epilogue_relu", multiply_with_relu(on.single));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_epilogue_relu", multiply_with_relu(on.half));
  t.apply("the product without an epilogue, then ReLU in a step of its own");
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "relu_afterwards", multiply_then_relu(on.single));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_relu_afterwards", multiply_then_relu(on.half));
}

void special_values(failure_case& c) {
  const auto with = [](cublasPointerMode_t mode) { return [=](trial& t) { alpha_zero(t, mode); }; };
  c.control("alpha = 0 and ReLU, without NaN", control);
  c.add("control_products", arm_kind::control, "a K of 32, without NaN and with it", control_of_products);
  c.fault("alpha_zero_host", "alpha = 0 in host memory, A all NaN", with(CUBLAS_POINTER_MODE_HOST));
  c.fault("alpha_zero_device", "alpha = 0 in device memory, A all NaN", with(CUBLAS_POINTER_MODE_DEVICE));
  c.fault("relu_nan", "the epilogue of cuBLASLt on a row of NaN", relu_of_nan);
  c.fault("k_zero", "K = 0, which leaves beta C", k_zero);
  c.remedy("host_mode", "alpha in host memory, in place of device memory", host_mode);
  c.remedy("relu_apart", "ReLU in a step of its own", relu_apart);
  c.in_tier = {"control", "alpha_zero_device", "relu_nan", "host_mode", "relu_apart"};
  c.share_process({"k_zero"});
}

const register_case here("numbers.special_values",
                         "NaN through ReLU, NaN under an alpha of 0, and products over a K of 0",
                         {"F-NUM-04", "F-NUM-05", "F-NUM-06"}, special_values);

}  // namespace
}  // namespace cufault
