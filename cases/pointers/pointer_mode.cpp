// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Routines with alpha, beta or result in another memory than the handle's pointer mode says: nobody set the mode, or another
//              user of the handle changed it.
// Why          Documented: the mode belongs to the handle and holds for every scalar of every later call. Supposed: in host mode the
//              calling thread reads the scalar, in device mode the kernel does, and neither checks the address.
// Documented   cuBLAS library, cublasSetPointerMode, cublasPointerMode_t (all scalars of a call by one mode) and scalar parameters
//              (none in managed memory in host mode). Reported: SIGSEGV for device scalars in host mode, raft#2766, cudarc#291;
//              illegal addresses after a mode was left behind, oneMath#92, #406, managedCuda#3.
// Measured     In host mode alpha or beta on the device crash the call (SIGSEGV), but cublasSdot puts its result there. In device mode
//              the call returns SUCCESS, and its kernel ends with an illegal address at any pageable scalar. Scalars in managed memory
//              in host mode give right numbers, whatever the documentation says.
// What helps   Recommended: set the mode before each use and restore it afterwards; a handle for each user. Also tried, since
//              people do, without success: waiting for the device, aligned scalars.
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

namespace cufault {
namespace {

constexpr float alpha = 2, beta = 3;
constexpr int count = 64;

enum class place { host, device, managed };

constexpr place place_of(cublasPointerMode_t mode) {
  return mode == CUBLAS_POINTER_MODE_HOST ? place::host : place::device;
}
constexpr cublasPointerMode_t other_than(cublasPointerMode_t mode) {
  return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
}

struct scalars {
  float *alpha, *beta, *result;
};

/// Live until the end of the process, since kernels may read them late. `apart`: floats from one scalar to the next.
scalars new_scalars(place where, std::size_t apart = 1) {
  std::vector<float> values(3 * apart, NAN);
  values[0] = alpha, values[apart] = beta;
  const std::size_t bytes = values.size() * sizeof(float);
  void* memory = nullptr;
  if (where == place::host)
    memory = std::malloc(bytes);
  else if (where == place::device)
    CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
  else
    CUFAULT_REQUIRE(cudaMallocManaged(&memory, bytes));
  CUFAULT_REQUIRE(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyDefault));
  auto* const first = static_cast<float*>(memory);
  return {first, first + apart, first + 2 * apart};
}

/// A user of cuBLAS with its own operands. The end of the process releases its handle and scalars.
struct user {
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();
  checked_product gemm{described(), {.alpha = alpha, .beta = beta}};
  guarded_array x{CUDA_R_32F, count}, y{CUDA_R_32F, count};

  user() { CUFAULT_REQUIRE(product(handle)); }
  static argument_check::product described() {
    argument_check::product p;
    p.m = 48, p.n = 40, p.k = 56;
    return p;
  }
  [[nodiscard]] float* first_of(const guarded_array& vector) const {
    return static_cast<float*>(vector.data());
  }
  [[nodiscard]] std::vector<double> fill(guarded_array& vector) const {
    auto numbers = small_numbers(count, fresh_seed());
    vector.put(numbers);
    return numbers;
  }
};

// ---- routines: with the handle's mode; cuBLASLt with the given mode ----

using routine = product_result (*)(user& by, const scalars& with, cublasPointerMode_t mode);

product_result sgemm_with(user& by, const scalars& with, cublasPointerMode_t /*mode*/) {
  argument_check::product p = by.gemm.described();
  p.alpha = with.alpha, p.beta = with.beta;
  return by.gemm.by([&] { return sgemm(by.handle, p, by.gemm.c.data()); });
}

product_result sscal(user& by, const scalars& with, cublasPointerMode_t /*mode*/) {
  auto expected = by.fill(by.x);
  for (double& each : expected) each *= alpha;
  return compared(cublasSscal(by.handle, count, with.alpha, by.first_of(by.x), 1), by.x, expected);
}

product_result sdot(user& by, const scalars& with, cublasPointerMode_t /*mode*/) {
  const auto x = by.fill(by.x), y = by.fill(by.y);
  float found = NAN;
  CUFAULT_REQUIRE(cudaMemcpy(with.result, &found, sizeof found, cudaMemcpyDefault));
  product_result result{
      .status = cublasSdot(by.handle, count, by.first_of(by.x), 1, by.first_of(by.y), 1, with.result)};
  result.waited = cudaDeviceSynchronize();
  if (result.status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
  CUFAULT_REQUIRE(cudaMemcpy(&found, with.result, sizeof found, cudaMemcpyDefault));
  result.right = found == std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  return result;
}

product_result lt_matmul(user& by, const scalars& with, cublasPointerMode_t mode) {
  lt_problem problem(by.gemm.described());
  set_attribute(problem.operation(), CUBLASLT_MATMUL_DESC_POINTER_MODE,
                static_cast<std::int32_t>(mode));  // cublasLtPointerMode_t has the same numbers
  CUFAULT_REQUIRE(problem.heuristic(by.lt));
  if (problem.results().empty()) throw not_provoked("cuBLASLt has no algorithm for this pointer mode");
  lt_operands on = by.gemm.operands();
  on.alpha = with.alpha, on.beta = with.beta;
  return by.gemm.by([&] { return problem.multiply(by.lt, on, &problem.results().front().algo, nullptr, 0); });
}

struct use {
  const char* words;
  routine run;
  bool beta_alone = false;  ///< alpha is where the mode says
};
constexpr std::array uses{use{"cublasSgemm with scalars", sgemm_with},
                          use{"cublasSgemm with beta", sgemm_with, true},
                          use{"cublasSscal with alpha", sscal}, use{"cublasSdot with its result", sdot},
                          use{"cublasLtMatmul with scalars", lt_matmul}};

void observe_use(user& by, const use& how, cublasPointerMode_t mode, place where) {
  const scalars usual = new_scalars(place_of(mode)), given = new_scalars(where);
  const scalars with = how.beta_alone ? scalars{usual.alpha, given.beta, usual.result} : given;
  CUFAULT_REQUIRE(cublasSetPointerMode(by.handle, mode));
  const char* const memory = where == place::host     ? "host memory"
                             : where == place::device ? "device memory"
                                                      : "managed memory";
  observe_call(named_by_words(fmt::format("{} in {}", how.words, memory)),
               [&] { return how.run(by, with, mode); });
}

// ---- two users of a handle ----

/// Sets its mode and does not restore it.
product_result dot_of_another_user(user& other, cublasPointerMode_t mode) {
  CUFAULT_REQUIRE(cublasSetPointerMode(other.handle, mode));
  return sdot(other, new_scalars(place_of(mode)), mode);
}

/// Relies on the mode that it set earlier.
product_result own_product(user& by, cublasPointerMode_t mine, std::size_t apart = 1) {
  return sgemm_with(by, new_scalars(place_of(mine), apart), mine);
}

/// Sets a mode, and restores the previous one.
class pointer_mode_guard {
 public:
  pointer_mode_guard(cublasHandle_t handle, cublasPointerMode_t mode) : handle_(handle) {
    CUFAULT_REQUIRE(cublasGetPointerMode(handle, &before_));
    CUFAULT_REQUIRE(cublasSetPointerMode(handle, mode));
  }
  ~pointer_mode_guard() { cublasSetPointerMode(handle_, before_); }
  pointer_mode_guard(const pointer_mode_guard&) = delete;
  pointer_mode_guard& operator=(const pointer_mode_guard&) = delete;

 private:
  cublasHandle_t handle_;
  cublasPointerMode_t before_ = CUBLAS_POINTER_MODE_HOST;
};

// ---- control ----

void control(trial& t) {
  t.open_context();
  user by;
  for (const auto mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE})
    for (const use& each : uses) observe_use(by, each, mode, place_of(mode));
}

// ---- faults ----

void misplaced(trial& t, cublasPointerMode_t mode, place where) {
  t.for_each_row(uses.size(), [&]() -> trial::row_function {
    t.open_context();
    return
        [&, by = std::make_shared<user>()](std::size_t row) { observe_use(*by, uses.at(row), mode, where); };
  });
}

/// This user set its mode once, at the beginning.
void left_behind(trial& t, cublasPointerMode_t mine) {
  t.open_context();
  user by;
  CUFAULT_REQUIRE(cublasSetPointerMode(by.handle, mine));
  CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(by, other_than(mine)));
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode", own_product(by, mine));
}

// ---- remedies: for a user of host mode and one of device mode ----

void with_either_mode(trial& t, const char* remedy, void (*work)(user& by, cublasPointerMode_t mine)) {
  t.open_context();
  user by;
  t.apply(remedy);
  for (const auto mine : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    CUFAULT_REQUIRE(cublasSetPointerMode(by.handle, mine));
    work(by, mine);
  }
}

void the_other_restores(user& by, cublasPointerMode_t mine) {
  {
    const pointer_mode_guard restored_behind(by.handle, other_than(mine));
    CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(by, other_than(mine)));
  }
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode", own_product(by, mine));
}

void set_for_each_use(user& by, cublasPointerMode_t mine) {
  CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(by, other_than(mine)));
  const pointer_mode_guard set(by.handle, mine);
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode", own_product(by, mine));
}

void a_handle_each(user& by, cublasPointerMode_t mine) {
  user other;
  CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(other, other_than(mine)));
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode", own_product(by, mine));
}

// ---- dead ends: for a user of host mode ----

void wait_first(trial& t) {
  t.open_context();
  user by;
  t.apply("cudaDeviceSynchronize before the product");
  CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(by, CUBLAS_POINTER_MODE_DEVICE));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode", own_product(by, CUBLAS_POINTER_MODE_HOST));
}

void align_scalars(trial& t) {
  t.open_context();
  user by;
  t.apply("each scalar in host memory at 16 bytes' alignment");
  CUFAULT_OBSERVE_AS("cublasSdot", "by_another_user", dot_of_another_user(by, CUBLAS_POINTER_MODE_DEVICE));
  CUFAULT_OBSERVE_AS("cublasSgemm", "own_pointer_mode_aligned_scalars",
                     own_product(by, CUBLAS_POINTER_MODE_HOST, 16 / sizeof(float)));
}

// ---- the case ----

void pointer_mode(failure_case& c) {
  c.control("scalars where the mode says, in either mode", control);
  c.fault("device_scalars", "host mode, scalars in device memory",
          [](trial& t) { misplaced(t, CUBLAS_POINTER_MODE_HOST, place::device); });
  c.fault("host_scalars", "device mode, scalars in pageable host memory",
          [](trial& t) { misplaced(t, CUBLAS_POINTER_MODE_DEVICE, place::host); });
  c.fault("managed_scalars", "host mode, scalars in managed memory",
          [](trial& t) { misplaced(t, CUBLAS_POINTER_MODE_HOST, place::managed); });
  c.fault("device_mode_left", "another user of the handle leaves device mode behind",
          [](trial& t) { left_behind(t, CUBLAS_POINTER_MODE_HOST); });
  c.fault("host_mode_left", "another user of the handle leaves host mode behind",
          [](trial& t) { left_behind(t, CUBLAS_POINTER_MODE_DEVICE); });

  // Not for device_mode_left, which need not fail if the device can read pageable host memory.
  const auto remedy = [&](const char* name, const char* words, void (*work)(user&, cublasPointerMode_t)) {
    c.remedy(name, words, [=](trial& t) { with_either_mode(t, words, work); }).against = "host_mode_left";
  };
  const auto dead_end = [&](const char* name, const char* words, void (*body)(trial&)) {
    c.dead_end(name, words, body).against = "device_mode_left";
  };
  remedy("restore_behind", "the other user restores the mode that it found", the_other_restores);
  remedy("set_for_each_use", "set the mode for each use, restore it behind", set_for_each_use);
  remedy("own_handle", "a handle for each user", a_handle_each);
  dead_end("wait_first", "wait for the device before the product", wait_first);
  dead_end("align_scalars", "scalars at 16 bytes' alignment", align_scalars);
  c.in_tier = {"control", "device_mode_left", "host_mode_left", "restore_behind"};
  c.share_process_of({"control", "restore_behind", "set_for_each_use", "own_handle"});
}

const register_case here("pointers.pointer_mode",
                         "scalars in other memory than the pointer mode of the handle says", {"F-ARG-04"},
                         pointer_mode);

}  // namespace
}  // namespace cufault
