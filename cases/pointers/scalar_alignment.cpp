// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Complex routines with alpha or beta aligned only to its parts: 8 bytes for two doubles, 4 for two floats.
// Why          cuDoubleComplex is aligned to 16 bytes and cuComplex to 8; the complex types of C, C++, Fortran, Rust and NumPy to half of
//              that. A pointer cast between them is right only if the compiler happened to align the number. Code that trusts the type may
//              read it by one aligned instruction.
// Documented   cuComplex.h and vector_types.h, by the types. Reported: SIGSEGV in cublasZgeam, tenferro-rs#1870.
// Measured     On x86-64 two doubles on the host crash cublasZgeam and cublasZaxpy (SIGSEGV), not cublasZgemm; on the device they end
//              the kernel of each with a misaligned address. Two floats on the host do no harm, and leave nothing to clear.
// What helps   Recommended: alignas(16), or a cuDoubleComplex.
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace cufault {
namespace {

constexpr int n = 16;
constexpr double alpha = 2, beta = 1;  // axpy has no beta: 1 makes the work equal

/// Operands of one type. Every routine computes C = alpha A + beta B with them.
struct operands {
  cublasHandle_t handle;
  guarded_array a, b, identity, c;
  operands(cublasHandle_t with, cudaDataType type)
      : handle(with), a(type, n * n), b(type, n * n), identity(type, n * n), c(type, n * n) {
    std::vector<double> diagonal(n * n);
    for (int i = 0; i < n; ++i) diagonal[i * (n + 1)] = 1;
    identity.put(diagonal);
  }
};

template <class Complex>
Complex* in(const guarded_array& array) {
  return static_cast<Complex*>(array.data());
}

template <class Complex, auto geam>
cublasStatus_t add(const operands& on, const void* by_a, const void* by_b) {
  return geam(on.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, static_cast<const Complex*>(by_a), in<Complex>(on.a),
              n, static_cast<const Complex*>(by_b), in<Complex>(on.b), n, in<Complex>(on.c), n);
}

template <class Complex, auto gemm>
cublasStatus_t multiply(const operands& on, const void* by_a, const void* by_b) {
  return gemm(on.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, static_cast<const Complex*>(by_a),
              in<Complex>(on.a), n, in<Complex>(on.identity), n, static_cast<const Complex*>(by_b),
              in<Complex>(on.c), n);
}

template <class Complex, auto axpy>
cublasStatus_t add_in_place(const operands& on, const void* by_a, const void* /*by_b*/) {
  return axpy(on.handle, n * n, static_cast<const Complex*>(by_a), in<Complex>(on.a), 1, in<Complex>(on.c),
              1);
}

enum class scalar { alpha, beta };

struct use {
  const char* function;
  scalar misplaced;
  cublasStatus_t (*call)(const operands& on, const void* by_a, const void* by_b);
};
using uses = std::array<use, 5>;

template <class Complex, auto geam, auto gemm, auto axpy>
constexpr uses uses_of(const char* geam_name, const char* gemm_name, const char* axpy_name) {
  return {use{geam_name, scalar::alpha, add<Complex, geam>}, use{geam_name, scalar::beta, add<Complex, geam>},
          use{gemm_name, scalar::alpha, multiply<Complex, gemm>},
          use{gemm_name, scalar::beta, multiply<Complex, gemm>},
          use{axpy_name, scalar::alpha, add_in_place<Complex, axpy>}};
}

/// One arm for each combination of scalar and memory kind.
struct subject {
  const char* arm;
  const char* words;
  cudaDataType type;
  std::size_t part;  ///< bytes of a part of the complex number
  cublasPointerMode_t mode;
  const uses* rows;
};
constexpr uses of_doubles = uses_of<cuDoubleComplex, cublasZgeam, cublasZgemm, cublasZaxpy>(
    "cublasZgeam", "cublasZgemm", "cublasZaxpy");
constexpr uses of_floats =
    uses_of<cuComplex, cublasCgeam, cublasCgemm, cublasCaxpy>("cublasCgeam", "cublasCgemm", "cublasCaxpy");
constexpr std::array subjects{subject{"double_complex", "two doubles on the host", CUDA_C_64F, sizeof(double),
                                      CUBLAS_POINTER_MODE_HOST, &of_doubles},
                              subject{"single_complex", "two floats on the host", CUDA_C_32F, sizeof(float),
                                      CUBLAS_POINTER_MODE_HOST, &of_floats},
                              subject{"double_complex_on_device", "two doubles on the device", CUDA_C_64F,
                                      sizeof(double), CUBLAS_POINTER_MODE_DEVICE, &of_doubles}};

/// alpha and beta, each `off_by` bytes after a multiple of 64, in the memory of the mode.
class scalars {
 public:
  scalars(const subject& of, std::size_t alpha_off_by, std::size_t beta_off_by) {
    by_a = put(of.type, alpha, alpha_off_by);
    by_b = put(of.type, beta, apart + beta_off_by);
    if (of.mode == CUBLAS_POINTER_MODE_HOST) return;
    CUFAULT_REQUIRE(cudaMalloc(&device_, sizeof memory_));
    CUFAULT_REQUIRE(cudaMemcpy(device_, memory_.data(), sizeof memory_, cudaMemcpyHostToDevice));
    by_a = static_cast<std::byte*>(device_) + alpha_off_by;
    by_b = static_cast<std::byte*>(device_) + apart + beta_off_by;
  }
  ~scalars() { cudaFree(device_); }
  scalars(const scalars&) = delete;
  scalars& operator=(const scalars&) = delete;

  const void *by_a = nullptr, *by_b = nullptr;

 private:
  static constexpr std::size_t apart = 64;
  const std::byte* put(cudaDataType type, double number, std::size_t at) {
    const auto bytes = encoded(type, std::array{number});
    std::memcpy(&memory_.at(at), bytes.data(), bytes.size());
    return &memory_.at(at);
  }
  alignas(apart) std::array<std::byte, 2 * apart> memory_{};
  void* device_ = nullptr;
};

product_result compute(operands& on, const use& how, const scalars& with) {
  auto expected = small_numbers(n * n, fresh_seed());
  const auto b = small_numbers(n * n, fresh_seed());
  on.a.put(expected);
  on.b.put(b);
  on.c.put(b);
  for (std::size_t i = 0; i < b.size(); ++i) expected[i] = alpha * expected[i] + beta * b[i];
  return compared(how.call(on, with.by_a, with.by_b), on.c, expected);
}

std::shared_ptr<operands> new_operands(const subject& of) {
  const cublasHandle_t handle = new_handle();
  CUFAULT_REQUIRE(cublasSetPointerMode(handle, of.mode));
  return std::make_shared<operands>(handle, of.type);
}

void observe_aligned(const subject& of) {
  const auto on = new_operands(of);
  for (const use& each : *of.rows)
    observe_call({each.function}, [&] { return compute(*on, each, scalars(of, 0, 0)); });
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  for (const subject& each : subjects) observe_aligned(each);
}

// ---- faults ----

void aligned_to_parts(trial& t, const subject& of) {
  t.for_each_row(of.rows->size(), [&]() -> trial::row_function {
    t.open_context();
    return [&of, on = new_operands(of)](std::size_t row) {
      const use& how = of.rows->at(row);
      const bool is_alpha = how.misplaced == scalar::alpha;
      const step_name step{how.function, fmt::format("with_{}_at_{}_mod_{}", is_alpha ? "alpha" : "beta",
                                                     of.part, 2 * of.part)};
      observe_call(step, [&] {
        return compute(*on, how, scalars(of, is_alpha ? of.part : 0, is_alpha ? 0 : of.part));
      });
    };
  });
}

// ---- remedies ----

void align(trial& t, const subject& of) {
  t.open_context();
  t.apply("both scalars aligned to all of their size");
  observe_aligned(of);
}

// ---- the case ----

void scalar_alignment(failure_case& c) {
  c.control("aligned scalars", control);
  for (const subject& each : subjects) {
    c.fault(each.arm, fmt::format("alpha or beta aligned as {}", each.words),
            [&each](trial& t) { aligned_to_parts(t, each); });
    c.remedy(fmt::format("align_{}", each.arm), fmt::format("{}, aligned to all of their size", each.words),
             [&each](trial& t) { align(t, each); })
        .against = each.arm;
  }
  c.share_process_of(
      {"control", "align_double_complex", "align_single_complex", "align_double_complex_on_device"});
}

const register_case here("pointers.scalar_alignment", "complex alpha and beta at half their alignment",
                         {"F-ARG-09"}, scalar_alignment);

}  // namespace
}  // namespace cufault
