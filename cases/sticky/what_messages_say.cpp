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
#include "harness/trial.hpp"
#include "harness/unique_fd.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace cufault {
namespace {

using shape = product_shape;

/// Sends what the process prints to a file for as long as it lives.
class redirected {
 public:
  explicit redirected(const std::filesystem::path& file) {
    const unique_fd to(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[fd - STDOUT_FILENO] = unique_fd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
      if (dup2(to.get(), fd) < 0) throw setup_failed("cannot redirect what is printed");
    }
  }
  ~redirected() {
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(saved_[fd - STDOUT_FILENO].get(), fd);
  }
  redirected(const redirected&) = delete;
  redirected& operator=(const redirected&) = delete;

 private:
  std::array<unique_fd, 2> saved_;
};

template <class Calls>
std::string printed_by(const trial& t, Calls&& calls) {
  const std::filesystem::path file = t.scratch() / "printed";
  {
    const redirected here(file);
    calls();
  }
  std::ifstream text(file);
  return {std::istreambuf_iterator<char>(text), {}};
}

/// Does the text name the cause? Quotes it from there on, or from its beginning.
void hints_at(trial& t, std::string_view cause, const char* from, const std::string& text) {
  const std::size_t at = text.find(cause);
  std::string line = text.substr(at == std::string::npos ? 0 : at);
  line.resize(std::min(line.find('\n'), line.size()));
  t.conclude("S1-16", at != std::string::npos,
             line.empty() ? fmt::format("{}: nothing", from) : fmt::format("{}: \"{}\"", from, line));
}

cublasHandle_t handle_here(trial& t) {
  t.open_context();
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle));
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

void listen() {
  logged().clear();
  require(cublasLtLoggerSetCallback([](int, const char* function, const char* message) {
    logged() += fmt::format("{}\n", message);
    trial::current().library_logged(fmt::format("{}: {}", function, message));
  }));
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasLtHandle_t light = nullptr;
  require(cublasLtCreate(&light));
  listen();
  const std::string printed = printed_by(t, [&] {
    observe(product(handle));
    observe(lt_heuristic(light, shape::lda, shape::k));
  });
  t.measure("printed and logged when all is right", static_cast<double>(printed.size() + logged().size()),
            "bytes");
}

// ---- faults ----

void small_lda(trial& t) {
  const cublasHandle_t handle = handle_here(t);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const std::string printed = printed_by(t, [&] { status = observe(multiply_with_small_lda(handle)); });
  hints_at(t, "On entry to SGEMM", "cublasSgemm prints", printed);
  hints_at(t, "leading dimension", "cublasGetStatusString", cublasGetStatusString(status));
}

void lt_small_lda(trial& t) {
  const cublasLtHandle_t light = lt_handle_here(t);
  listen();
  observe(lt_heuristic(light, too_small, shape::k));
  hints_at(t, "leading dimension", "cuBLASLt logs", logged());
}

void lt_inner_extents(trial& t) {
  const cublasLtHandle_t light = lt_handle_here(t);
  listen();
  observe(lt_heuristic(light, shape::lda, shape::k + 1));
  hints_at(t, "inner dimension", "cuBLASLt logs", logged());
}

/// What a broken kernel lets the user read, and what the innocent cublasCreate after it does.
void broken_kernel(trial& t, device_fault which, std::string_view cause) {
  t.open_context();
  require(load_faults());
  cudaError_t told = cudaSuccess;
  cublasStatus_t created = CUBLAS_STATUS_SUCCESS;
  const std::string by_the_kernel = printed_by(t, [&] {
    observe(launch_fault(which));
    told = observe(cudaDeviceSynchronize());
  });
  const std::string by_cublas = printed_by(t, [&] {
    cublasHandle_t handle = nullptr;
    created = observe(cublasCreate(&handle));
  });
  hints_at(t, cause, "the kernel prints, and cudaGetErrorString", by_the_kernel + cudaGetErrorString(told));
  hints_at(t, cause, "cublasCreate prints, and cublasGetStatusString",
           by_cublas + cublasGetStatusString(created));
}

void assertion(trial& t) {
  broken_kernel(t, device_fault::assertion, "Assertion");
}

void illegal_address(trial& t) {
  broken_kernel(t, device_fault::illegal_address, "illegal memory access");
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
