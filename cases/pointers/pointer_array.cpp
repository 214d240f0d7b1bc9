// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A batch of products whose arrays of pointers are in host memory, or hold host addresses.
// Why          The kernel reads the array, then the matrix: the device must be able to read both. The host makes the array, so one easily
//              forgets to copy it to the device.
// Documented   cuBLAS library, cublas<t>gemmBatched and cublasGemmBatchedEx: Aarray, Barray and Carray are arrays in device memory;
//              no error is named for others.
// Measured     The call returns SUCCESS, its kernel ends with an illegal address, and the context is lost.
// What helps   Recommended: copy the array to the device; cublas<t>gemmStridedBatched, which takes no array. Tried besides,
//              and it works: an array in pinned memory.
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace cufault {
namespace {

constexpr int batch = 3;

argument_check::product three_products() {
  argument_check::product p;
  p.m = 48, p.n = 40, p.k = 56;
  p.batch = batch;
  return p;
}

enum class memory { device, host, pinned };

/// A copy in that memory, released by the end of the process.
void* copied(const void* from, std::size_t bytes, memory to) {
  void* copy = nullptr;
  if (to == memory::device)
    CUFAULT_REQUIRE(cudaMalloc(&copy, bytes));
  else if (to == memory::pinned)
    CUFAULT_REQUIRE(cudaHostAlloc(&copy, bytes, cudaHostAllocDefault));
  else
    copy = std::malloc(bytes);
  CUFAULT_REQUIRE(cudaMemcpy(copy, from, bytes, cudaMemcpyDefault));
  return copy;
}

enum class function { sgemm_batched, gemm_batched_ex };

/// Which arrays of pointers are not on the device, and where; and where the matrices of A are.
struct arrangement {
  const char* operands = "";
  memory arrays = memory::device, matrices_of_a = memory::device;
};

product_result multiply_batch(cublasHandle_t handle, function by, const arrangement& how) {
  checked_product p(three_products());
  const auto& d = p.described();
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const auto array_of = [&](char operand, const void* first, std::int64_t stride) {
    std::array<const float*, batch> pointers{};
    for (int i = 0; i < batch; ++i) pointers[i] = static_cast<const float*>(first) + i * stride;
    return copied(pointers.data(), sizeof pointers,
                  std::strchr(how.operands, operand) != nullptr ? how.arrays : memory::device);
  };
  return p.by([&] {
    const void* const matrices = how.matrices_of_a == memory::device
                                     ? p.a.data()
                                     : copied(p.a.data(), p.a.size() * sizeof(float), how.matrices_of_a);
    void* const a = array_of('A', matrices, d.a.stride);
    void* const b = array_of('B', p.b.data(), d.b.stride);
    void* const c = array_of('C', p.c.data(), d.c.stride);
    const int lda = narrow(d.a.leading_dimension), ldb = narrow(d.b.leading_dimension),
              ldc = narrow(d.c.leading_dimension);
    if (by == function::sgemm_batched)
      return cublasSgemmBatched(
          handle, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), static_cast<const float*>(p.alpha()),
          static_cast<const float* const*>(a), lda, static_cast<const float* const*>(b), ldb,
          static_cast<const float*>(p.beta()), static_cast<float* const*>(c), ldc, batch);
    return cublasGemmBatchedEx(
        handle, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k), p.alpha(),
        static_cast<const void* const*>(a), d.a.type, lda, static_cast<const void* const*>(b), d.b.type, ldb,
        p.beta(), static_cast<void* const*>(c), d.c.type, ldc, batch, d.compute, CUBLAS_GEMM_DEFAULT);
  });
}

product_result multiply_strided_batch(cublasHandle_t handle) {
  checked_product p(three_products());
  const auto& d = p.described();
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const auto numbers = [](const void* x) { return static_cast<const float*>(x); };
  return p.by([&] {
    return cublasSgemmStridedBatched(handle, d.a_op, d.b_op, narrow(d.m), narrow(d.n), narrow(d.k),
                                     numbers(d.alpha), numbers(d.a.data), narrow(d.a.leading_dimension),
                                     d.a.stride, numbers(d.b.data), narrow(d.b.leading_dimension), d.b.stride,
                                     numbers(d.beta), static_cast<float*>(p.c.data()),
                                     narrow(d.c.leading_dimension), d.c.stride, batch);
  });
}

/// Loads the kernels, so that only the arrays matter.
cublasHandle_t open(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  for (const function by : {function::sgemm_batched, function::gemm_batched_ex})
    CUFAULT_REQUIRE(multiply_batch(handle, by, {}));
  return handle;
}

void observe_both(cublasHandle_t handle, const arrangement& how) {
  CUFAULT_OBSERVE_AS("cublasSgemmBatched", "", multiply_batch(handle, function::sgemm_batched, how));
  CUFAULT_OBSERVE_AS("cublasGemmBatchedEx", "", multiply_batch(handle, function::gemm_batched_ex, how));
}

// ---- control ----

void control(trial& t) {
  observe_both(open(t), {});
}

// ---- faults ----

void array_on_the_host(trial& t) {
  struct row {
    const char *name, *operands;
    function by;
  };
  static constexpr std::array rows{row{"cublasSgemmBatched", "A", function::sgemm_batched},
                                   row{"cublasSgemmBatched", "B", function::sgemm_batched},
                                   row{"cublasSgemmBatched", "C", function::sgemm_batched},
                                   row{"cublasGemmBatchedEx", "ABC", function::gemm_batched_ex}};
  t.for_each_row(rows.size(), [&]() -> trial::row_function {
    return [handle = open(t)](std::size_t i) {
      const auto& [name, operands, by] = rows.at(i);
      observe_call({name, fmt::format("with_pointers_to_{}_in_host_memory", operands)},
                   [&, by = by, operands = operands] {
                     return multiply_batch(handle, by, {operands, memory::host});
                   });
    };
  });
}

void host_addresses(trial& t) {
  const cublasHandle_t handle = open(t);
  CUFAULT_OBSERVE_AS("cublasSgemmBatched", "with_an_array_of_host_addresses",
                     multiply_batch(handle, function::sgemm_batched, {.matrices_of_a = memory::host}));
}

// ---- remedies ----

void cleared_by(trial& t, const char* words, const arrangement& how) {
  const cublasHandle_t handle = open(t);
  t.apply(words);
  observe_both(handle, how);
}

void without_array(trial& t) {
  const cublasHandle_t handle = open(t);
  t.apply("cublasSgemmStridedBatched instead");
  CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "", multiply_strided_batch(handle));
}

// ---- the case ----

void pointer_array(failure_case& c) {
  c.control("arrays and matrices on the device", control);
  c.fault("array_on_host", "the pointers to A, B, C or all of them in host memory", array_on_the_host);
  c.fault("host_addresses", "an array on the device, of A's addresses on the host", host_addresses);
  const auto answer = [&](const char* name, const char* fault, const char* words,
                          const std::function<void(trial&)>& body) {
    c.remedy(name, words, body).against = fault;
  };
  const auto arranged = [&](const char* name, const char* fault, const char* words, const arrangement& how) {
    answer(name, fault, words, [=](trial& t) { cleared_by(t, words, how); });
  };
  arranged("copy_array", "array_on_host", "copy the arrays to the device", {});
  arranged("pinned_array", "array_on_host", "the arrays in pinned memory", {"ABC", memory::pinned});
  answer("strided", "array_on_host", "matrices at one distance, and no array", without_array);
  arranged("copy_matrices", "host_addresses", "copy the matrices to the device, too", {});
  c.in_tier = {"control", "host_addresses", "copy_matrices"};
  c.share_process_of({"control", "copy_array", "pinned_array", "strided", "copy_matrices"});
}

const register_case here("pointers.pointer_array",
                         "a batch whose arrays of pointers are in host memory, or hold host addresses",
                         {"F-ARG-05"}, pointer_array);

}  // namespace
}  // namespace cufault
