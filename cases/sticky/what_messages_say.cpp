// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Calls with a bad argument, and calls after a kernel broke. What counts here is what a user can
//              read then.
// Why          A status is one word. Whatever else there is to know is printed, or logged where logging is
//              on, or said nowhere.
// Documented   cuBLAS documentation, cublasGetStatusString() and cuBLASLt Logging; CUDA C++ Programming
//              Guide, Assertion. Reported: a line with a parameter's number, tensorflow#25761, dbcsr#28,
//              fast.cu#14; a line of cuBLASLt's log that names the mismatch, CUDALibrarySamples#185.
// What helps   Recommended: the right leading dimension, once the message has led to it.
#include "cases/sticky/what_is_told.hpp"
#include "harness/trial.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace cufault {
namespace {

using shape = product_shape;

/// Does the text name the cause? Quotes it from there on, or from its beginning.
void hints_at(trial& t, std::string_view cause, std::string_view from, const std::string& text) {
  const std::size_t at = text.find(cause);
  std::string line = text.substr(at == std::string::npos ? 0 : at);
  line.resize(std::min(line.find('\n'), line.size()));
  if (at == std::string::npos)
    line = line.empty() ? "nothing" : fmt::format("\"{}\", no word of \"{}\"", line, cause);
  else
    line = fmt::format("\"{}\"", line);
  t.conclude("S1-16", at != std::string::npos, fmt::format("{}: {}", from, line));
}

cublasHandle_t handle_here(trial& t) {
  t.open_context();
  cublasHandle_t const handle = new_handle();
  return handle;
}

cublasLtHandle_t lt_handle_here(trial& t) {
  t.open_context();
  cublasLtHandle_t light = nullptr;
  require(cublasLtCreate(&light));
  return light;
}

constexpr int too_small = shape::lda - 1;

cublasStatus_t multiply_with_small_lda(cublasHandle_t handle) {
  product_operands on_device;
  require(prepare_product(fresh_seed(), &on_device));
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on_device.a,
                     too_small, on_device.b, shape::ldb, &zero, on_device.c, shape::ldc);
}

/// Asks cuBLASLt for an algorithm; what its layouts may get wrong is the caller's.
cublasStatus_t lt_heuristic(cublasLtHandle_t light, int lda, int rows_of_b) {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  require(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  require(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, shape::m, shape::k, lda));
  require(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, rows_of_b, shape::n, rows_of_b));
  require(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, shape::m, shape::n, shape::ldc));
  require(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(light, operation, a, b, c, c, preference, 1, &result, &found);
  require(cublasLtMatmulPreferenceDestroy(preference));
  for (const cublasLtMatrixLayout_t layout : {a, b, c}) require(cublasLtMatrixLayoutDestroy(layout));
  require(cublasLtMatmulDescDestroy(operation));
  return status;
}

/// What cuBLASLt has logged since the last call of listen().
std::string& logged() {
  static std::string lines;
  return lines;
}

void listen(trial& t) {
  logged().clear();
  t.hear_library_log([](int, std::string_view message) { logged() += fmt::format("{}\n", message); });
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasLtHandle_t light = nullptr;
  require(cublasLtCreate(&light));
  listen(t);
  const printed_text printed = printed_by([&] {
    observe(product(handle));
    observe(lt_heuristic(light, shape::lda, shape::k));
  });
  t.measure("printed and logged when all is right",
            static_cast<double>(printed.out.size() + printed.err.size() + logged().size()), "bytes");
}

// ---- faults ----

void small_lda(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const printed_text printed = printed_by([&] { status = observe(multiply_with_small_lda(handle)); });
  hints_at(t, "On entry to SGEMM", "cublasSgemm prints", printed.out);
  hints_at(t, "leading dimension", "cublasGetStatusString", cublasGetStatusString(status));
}

/// What cuBLASLt says with its logging on, which is the harness's doing, and what is left without.
void lt_refuses(trial& t, std::string_view cause, int lda, int rows_of_b) {
  const cublasLtHandle_t light = lt_handle_here(t);
  listen(t);
  const cublasStatus_t status = observe(lt_heuristic(light, lda, rows_of_b));
  hints_at(t, cause, "with logging on, cuBLASLt logs", logged());
  hints_at(t, cause, "cublasGetStatusString", cublasGetStatusString(status));
}

void lt_small_lda(trial& t) {
  lt_refuses(t, "leading dimension", too_small, shape::k);
}

void lt_inner_extents(trial& t) {
  lt_refuses(t, "inner dimension", shape::lda, shape::k + 1);
}

/// How a broken kernel may be named: by the text of its error, and by what the device prints, where it prints.
struct causes {
  const char* of_the_error;
  const char* printed;
};

/// What a broken kernel lets the user read, and what the innocent cublasCreate after it does.
void broken_kernel(trial& t, device_fault which, const causes& cause) {
  t.open_context();
  require(load_faults());
  cudaError_t told = cudaSuccess;
  cublasStatus_t created = CUBLAS_STATUS_SUCCESS;
  const printed_text by_the_kernel = printed_by([&] {
    observe(launch_fault(which));
    told = observe(cudaDeviceSynchronize());
  });
  const printed_text by_cublas = printed_by([&] {
    cublasHandle_t handle = nullptr;
    created = observe(cublasCreate(&handle));
  });
  const auto with = [](const char* text_of, const printed_text& printed) {
    return fmt::format("{}{}", printed.empty() ? "nothing is printed; " : "", text_of);
  };
  if (const std::string place = place_named_in(by_the_kernel.err); !by_the_kernel.err.empty())
    hints_at(t, cause.printed, place.empty() ? "stderr" : fmt::format("stderr names {}", place),
             by_the_kernel.err);
  hints_at(t, cause.of_the_error, with("cudaGetErrorString", by_the_kernel), cudaGetErrorString(told));
  if (!by_cublas.empty())
    hints_at(t, cause.printed, "then cublasCreate prints", by_cublas.err + by_cublas.out);
  hints_at(t, cause.of_the_error, "then cublasCreate; " + with("cublasGetStatusString", by_cublas),
           cublasGetStatusString(created));
}

void assertion(trial& t) {
  broken_kernel(t, device_fault::assertion, {.of_the_error = "assert", .printed = "Assertion"});
}

void illegal_address(trial& t) {
  broken_kernel(t, device_fault::illegal_address,
                {.of_the_error = "illegal memory access", .printed = "illegal"});
}

// ---- remedies ----

void right_lda(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  observe(multiply_with_small_lda(handle));
  t.apply("the right leading dimension");
  observe(product(handle));
}

// ---- the case ----

failure_case what_messages_say() {
  failure_case c;
  c.name = "sticky.what_messages_say";
  c.summary = "what is printed and logged when a call fails, and whether it hints at the cause";
  c.failures = {"F-ARG-01", "F-STK-01", "F-STK-02"};
  c.add("control", arm_kind::control, "calls that are right", control);

  c.add("small_lda", arm_kind::fault, "cublasSgemm with lda below m", small_lda, {"S1-16"});
  c.add("lt_small_lda", arm_kind::fault, "cublasLtMatmulAlgoGetHeuristic with lda below m", lt_small_lda,
        {"S1-16"});
  c.add("lt_inner_extents", arm_kind::fault, "cublasLtMatmulAlgoGetHeuristic with two values for k",
        lt_inner_extents, {"S1-16"});
  c.add("assertion", arm_kind::fault, "an assertion in a kernel fails, then cublasCreate", assertion,
        {"S1-16"});
  c.add("illegal_address", arm_kind::fault, "a kernel stores to an illegal address, then cublasCreate",
        illegal_address, {"S1-16"});

  c.add("right_lda", arm_kind::remedy, "the right leading dimension", right_lda);
  return c;
}

const register_case here{what_messages_say()};

}  // namespace
}  // namespace cufault
