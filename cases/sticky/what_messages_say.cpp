// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Calls with a bad argument, and calls after a kernel failed. This case records what a user can read then.
// Why          A status is one word. All other information is printed, or logged if logging is on, or missing.
// Documented   cuBLAS documentation, cublasGetStatusString() and cuBLASLt Logging; CUDA C++ Programming
//              Guide, Assertion. Reported: a line with a parameter's number, tensorflow#25761, dbcsr#28,
//              fast.cu#14; a line of cuBLASLt's log that names the mismatch, CUDALibrarySamples#185.
// What helps   Recommended: the right leading dimension, once the message has led to it.
#include "cases/sticky/what_is_told.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cufault {
namespace {

using shape = product_shape;

cublasHandle_t handle_here(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  return handle;
}

cublasLtHandle_t lt_handle_here(trial& t) {
  t.open_context();
  cublasLtHandle_t lt = nullptr;
  CUFAULT_REQUIRE(cublasLtCreate(&lt));
  return lt;
}

constexpr int too_small = shape::lda - 1;

cublasStatus_t multiply_with_small_lda(cublasHandle_t handle) {
  product_operands on_device;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on_device));
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on_device.a,
                     too_small, on_device.b, shape::ldb, &zero, on_device.c, shape::ldc);
}

/// Asks cuBLASLt for an algorithm; the caller may make its layouts wrong.
cublasStatus_t lt_heuristic(cublasLtHandle_t lt, int lda, int rows_of_b) {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  CUFAULT_REQUIRE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CUFAULT_REQUIRE(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, shape::m, shape::k, lda));
  CUFAULT_REQUIRE(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, rows_of_b, shape::n, rows_of_b));
  CUFAULT_REQUIRE(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, shape::m, shape::n, shape::ldc));
  CUFAULT_REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(lt, operation, a, b, c, c, preference, 1, &result, &found);
  CUFAULT_REQUIRE(cublasLtMatmulPreferenceDestroy(preference));
  for (const cublasLtMatrixLayout_t layout : {a, b, c}) CUFAULT_REQUIRE(cublasLtMatrixLayoutDestroy(layout));
  CUFAULT_REQUIRE(cublasLtMatmulDescDestroy(operation));
  return status;
}

/// Messages of cuBLASLt since the last call of listen().
std::string& logged() {
  static std::string lines;
  return lines;
}

void listen(trial& t) {
  logged().clear();
  t.on_library_log([](int, std::string_view message) { logged() += fmt::format("{}\n", message); });
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasLtHandle_t lt = nullptr;
  CUFAULT_REQUIRE(cublasLtCreate(&lt));
  listen(t);
  const printed_text printed = printed_by([&] {
    CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
    CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", lt_heuristic(lt, shape::lda, shape::k));
  });
  t.measure("printed and logged when all is right",
            static_cast<double>(printed.out.size() + printed.err.size() + logged().size()), "bytes");
}

// ---- faults ----

void small_lda(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const printed_text printed = printed_by([&] {
    status = CUFAULT_OBSERVE_AS("cublasSgemm", "lda_one_too_small", multiply_with_small_lda(handle));
  });
  t.note("printed by cublasSgemm", printed.out);
  t.note("cublasGetStatusString", cublasGetStatusString(status));
}

/// The harness turns logging on, so the library's log has cuBLASLt's message.
void lt_refuses(trial& t, int lda, int rows_of_b) {
  const cublasLtHandle_t lt = lt_handle_here(t);
  const cublasStatus_t status =
      CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", lt_heuristic(lt, lda, rows_of_b));
  t.note("cublasGetStatusString", cublasGetStatusString(status));
}

void lt_small_lda(trial& t) {
  lt_refuses(t, too_small, shape::k);
}

void lt_inner_extents(trial& t) {
  lt_refuses(t, shape::lda, shape::k + 1);
}

/// What a failing kernel lets the user read, and the result of the unrelated cublasCreate after it.
void broken_kernel(trial& t, device_fault which) {
  context_with_faults(t);
  cudaError_t told = cudaSuccess;
  cublasStatus_t created = CUBLAS_STATUS_SUCCESS;
  const printed_text by_the_kernel = printed_by([&] {
    CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fault", launch_fault(which));
    told = CUFAULT_OBSERVE(cudaDeviceSynchronize());
  });
  const printed_text by_cublas = printed_by([&] {
    cublasHandle_t handle = nullptr;
    created = CUFAULT_OBSERVE(cublasCreate(&handle));
  });
  if (!by_the_kernel.err.empty()) t.note("printed by the kernel", by_the_kernel.err);
  measure_places(t, by_the_kernel);
  t.note("cudaGetErrorString", cudaGetErrorString(told));
  if (!by_cublas.empty()) t.note("printed by cublasCreate", by_cublas.err + by_cublas.out);
  t.note("cublasGetStatusString", cublasGetStatusString(created));
}

void assertion(trial& t) {
  broken_kernel(t, device_fault::assertion);
}

void illegal_address(trial& t) {
  broken_kernel(t, device_fault::illegal_address);
}

// ---- remedies ----

void right_lda(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  CUFAULT_OBSERVE_AS("cublasSgemm", "lda_one_too_small", multiply_with_small_lda(handle));
  t.apply("the right leading dimension");
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
}

// ---- the case ----

void what_messages_say(failure_case& c) {
  c.control("calls that are right", control);

  c.fault("small_lda", "cublasSgemm with lda below m", small_lda, {"S1-16"});
  c.fault("lt_small_lda", "cublasLtMatmulAlgoGetHeuristic with lda below m", lt_small_lda, {"S1-16"});
  c.fault("lt_inner_extents", "cublasLtMatmulAlgoGetHeuristic with two values for k", lt_inner_extents,
          {"S1-16"});
  c.fault("assertion", "an assertion in a kernel fails, then cublasCreate", assertion, {"S1-16"});
  c.fault("illegal_address", "a kernel stores to an illegal address, then cublasCreate", illegal_address,
          {"S1-16"});

  c.remedy("right_lda", "the right leading dimension", right_lda);
  c.share_process_of({"control", "small_lda", "lt_small_lda", "lt_inner_extents", "right_lda"});
}

const register_case here("sticky.what_messages_say",
                         "what is printed and logged when a call fails, and whether it hints at the cause",
                         {"F-ARG-01", "F-STK-01", "F-STK-02"}, what_messages_say);

}  // namespace
}  // namespace cufault
