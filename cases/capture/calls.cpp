// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Calls that are fine outside of a capture: a result in host memory, and a product on the legacy stream while a blocking
//              stream captures. And one that succeeds and is wrong: a graph keeps the alpha that it was captured with. Tried because
//              they are documented or reported to fail: the heuristic of cuBLASLt, an autotuned product.
// Why          Supposed: a capture records; it cannot do at once what must be done at once (wait, measure, load code). Documented: host
//              scalars are recorded by value, and the legacy stream waits for every blocking stream.
// Documented   cuBLAS documentation, CUDA Graphs Support: no scalar results in host memory during a capture; host alpha and beta are
//              recorded, device ones are read at each launch. cublasGemmAlgo_t: CUBLAS_GEMM_AUTOTUNE is not supported during a capture for
//              a product it has not met. CUDA Runtime API, cudaStreamIsCapturing: the legacy stream is unusable while a blocking stream
//              captures. Release notes and vllm.cpp#1732, #1741: INTERNAL_ERROR of the heuristic during a capture, in cuBLAS 13.5.1 to
//              13.6.0 only.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a result in host memory and a product on the legacy stream return INTERNAL_ERROR and
//              invalidate the capture. The heuristic and an autotuned single-precision product do neither: their graphs give right numbers.
//              First products and the relaxed mode: capture_* of the matrix.
// What helps   Documented: results and scalars in device memory (CUBLAS_POINTER_MODE_DEVICE), non-blocking streams. Recommended: asking the
//              heuristic before the capture.
#include "cases/capture/recording.hpp"
#include "harness/kit/lt_problem.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

namespace cufault {
namespace {

float* new_floats(std::size_t count) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, count * sizeof(float)));
  return static_cast<float*>(memory);
}

void put(float* to, std::initializer_list<float> values) {
  CUFAULT_REQUIRE(cudaMemcpy(to, values.begin(), values.size() * sizeof(float), cudaMemcpyDefault));
}

// ---- results that are scalars ----

constexpr int elements = 1 << 14;

struct reduction {
  const char* name;
  cublasStatus_t (*call)(cublasHandle_t, const float* x, const float* ones, float* result);
  float of_ones;  ///< its result where every element of x is 1; it grows as x does
};
const std::array reductions{
    reduction{"cublasSdot",
              [](cublasHandle_t handle, const float* x, const float* ones, float* result) {
                return cublasSdot(handle, elements, x, 1, ones, 1, result);
              },
              elements},
    reduction{"cublasSnrm2",
              [](cublasHandle_t handle, const float* x, const float*, float* result) {
                return cublasSnrm2(handle, elements, x, 1, result);
              },
              128},
    reduction{"cublasSasum",
              [](cublasHandle_t handle, const float* x, const float*, float* result) {
                return cublasSasum(handle, elements, x, 1, result);
              },
              elements}};

/// Vectors, and a place for results in host and in device memory.
struct reduction_bench {
  recording r;
  float *x = new_floats(elements), *ones = new_floats(elements), *on_device = new_floats(1);
  float on_host = 0;

  reduction_bench() {
    CUFAULT_REQUIRE(load_faults());
    warm_up(r);
    fill(ones, 1);
    fill(x, 1);
    for (const auto mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
      float* const result = result_in(mode);
      for (const reduction& what : reductions)
        CUFAULT_REQUIRE(what.call(r.handle, x, ones, result));  // loads its kernels
    }
    CUFAULT_REQUIRE(cudaStreamSynchronize(r.stream));
  }
  /// Sets the handle's pointer mode; returns the place for results in that mode.
  float* result_in(cublasPointerMode_t mode) {
    CUFAULT_REQUIRE(cublasSetPointerMode(r.handle, mode));
    return mode == CUBLAS_POINTER_MODE_HOST ? &on_host : on_device;
  }
  void fill(float* vector, float value) const {
    CUFAULT_REQUIRE(launch_fill(vector, elements, value, r.stream));
    CUFAULT_REQUIRE(cudaStreamSynchronize(r.stream));
  }
};

/// One launch of the graph, on a new vector and a poisoned result.
product_with_facts replayed_reduction(reduction_bench& b, const reduction& what, float* result) {
  const auto value = static_cast<float>(2 + fresh_seed() % 7);
  b.fill(b.x, value);
  put(result, {NAN});
  const fact_map facts{{"replayed", std::string(what.name)}};
  product_result came_to{.waited = cudaGraphLaunch(b.r.executable, b.r.stream)};
  if (came_to.waited == cudaSuccess) came_to.waited = cudaDeviceSynchronize();
  if (came_to.waited != cudaSuccess) return {came_to, facts};
  float found = NAN;
  came_to.waited = cudaMemcpy(&found, result, sizeof found, cudaMemcpyDefault);
  const float expected = value * what.of_ones;
  came_to.right = std::abs(found - expected) <= expected * 1e-5F;
  return {came_to, facts};
}

void capture_reductions(reduction_bench& b, cublasPointerMode_t pointers,
                        cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  float* const result = b.result_in(pointers);
  for (const reduction& what : reductions) {
    begin(b.r, mode);
    const cublasStatus_t status =
        observe_call({what.name}, [&] { return what.call(b.r.handle, b.x, b.ones, result); });
    if (!end(b.r) || status != CUBLAS_STATUS_SUCCESS) continue;
    if (CUFAULT_OBSERVE(cudaGraphInstantiate(&b.r.executable, b.r.graph)) == cudaSuccess)
      CUFAULT_OBSERVE_AS("cudaGraphLaunch", "reduction", replayed_reduction(b, what, result));
  }
}

// ---- the heuristic ----

struct lt_bench {
  recording r;
  cublasLtHandle_t lt = new_lt_handle();
  lt_problem known{small_extents};
  lt_problem unknown{product_extents{.m = 128, .n = 96, .k = 160}};

  explicit lt_bench(unsigned stream_flags = cudaStreamNonBlocking) : r(small_extents, stream_flags) {
    CUFAULT_REQUIRE(lt_product(lt));  // loads the kernel of the known problem
  }
};

cublasStatus_t captured_lt_matmul(lt_bench& b) {
  const cublasStatus_t status = b.known.multiply(b.lt, b.r.on, nullptr, 0, b.r.stream);
  b.r.captured = status == CUBLAS_STATUS_SUCCESS;
  return status;
}

void ask_both(lt_bench& b) {
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "unknown", b.unknown.heuristic(b.lt));
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "known", b.known.heuristic(b.lt));
}

void ask_then_capture(lt_bench& b) {
  ask_both(b);
  begin(b.r);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "captured", captured_lt_matmul(b));
  end_and_replay(b.r);
}

// ---- autotuning ----

/// CUBLAS_GEMM_AUTOTUNE, which headers before CUDA 13.0 lack.
const auto autotune = static_cast<cublasGemmAlgo_t>(999);

cublasStatus_t autotuned_gemm(recording& r) {
  const auto& [m, n, k] = r.extents;
  const cublasStatus_t status =
      cublasGemmEx(r.handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, r.on.a, CUDA_R_32F, m, r.on.b,
                   CUDA_R_32F, k, &zero, r.on.c, CUDA_R_32F, r.extents.ldc(), CUBLAS_COMPUTE_32F, autotune);
  r.captured = r.captured || status == CUBLAS_STATUS_SUCCESS;
  return status;
}

void warm_up_where_there_is_autotuning(recording& r) {
  warm_up(r);
  int version = 0;
  CUFAULT_REQUIRE(cublasGetVersion(r.handle, &version));
  if (version < 130000) throw not_provoked("CUBLAS_GEMM_AUTOTUNE needs cuBLAS 13.0 or newer");
}

void capture_autotuned(recording& r) {
  begin(r);
  CUFAULT_OBSERVE_AS("cublasGemmEx", "autotune_unchecked", autotuned_gemm(r));
  end_and_replay(r);
}

// ---- alpha ----

/// Captures the graph while alpha is 2 in this variable, and launches it when it is 1.
void change_alpha_on_host(recording& r) {
  float alpha = 2;
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured_alpha_on_host", captured_sgemm(r, &alpha));
  const bool is_graph = end(r);
  alpha = 1;
  if (is_graph && r.captured) instantiate_and_replay(r);
}

void change_alpha_on_device(recording& r) {
  float* const scalars = new_floats(2);
  put(scalars, {1, 0});
  CUFAULT_OBSERVE(cublasSetPointerMode(r.handle, CUBLAS_POINTER_MODE_DEVICE));
  CUFAULT_OBSERVE_AS("cublasSgemm", "eager_scalars_on_device", multiply_at_once(r, scalars, scalars + 1));
  put(scalars, {2, 0});
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured_scalars_on_device", captured_sgemm(r, scalars, scalars + 1));
  const bool is_graph = end(r);
  put(scalars, {1, 0});
  if (is_graph && r.captured) instantiate_and_replay(r);
}

// ---- a product that is not captured, on another stream ----

/// Another handle multiplies on the legacy stream while a stream with these flags captures.
void multiply_beside(unsigned stream_flags) {
  recording r(small_extents, stream_flags);
  warm_up(r);
  const cublasHandle_t other = new_handle();
  CUFAULT_REQUIRE(product(other));
  product_operands on;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  const cublasStatus_t status = CUFAULT_OBSERVE_AS("cublasSgemm", "beside_the_capture", sgemm(other, on));
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  end_and_replay(r);
  if (status == CUBLAS_STATUS_SUCCESS)
    CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product_beside", checked({}));
}

constexpr unsigned blocking = cudaStreamDefault, non_blocking = cudaStreamNonBlocking;

// ---- control ----

void control(trial& t) {
  recording r = warm_recording(t);
  capture_and_replay(r);
  reduction_bench reducing;
  capture_reductions(reducing, CUBLAS_POINTER_MODE_DEVICE);
  lt_bench lt;
  ask_then_capture(lt);
  multiply_beside(non_blocking);
}

// ---- faults ----

void host_results(trial& t) {
  t.open_context();
  reduction_bench b;
  capture_reductions(b, CUBLAS_POINTER_MODE_HOST);
}

void heuristic_within(trial& t, unsigned stream_flags) {
  t.open_context();
  lt_bench b(stream_flags);
  begin(b.r);
  ask_both(b);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "captured", captured_lt_matmul(b));
  end_and_replay(b.r);
}

void autotuned(trial& t) {
  t.open_context();
  recording r;
  warm_up_where_there_is_autotuning(r);
  capture_autotuned(r);
}

void frozen_alpha(trial& t) {
  recording r = warm_recording(t);
  change_alpha_on_host(r);
}

void beside(trial& t, unsigned stream_flags) {
  t.open_context();
  multiply_beside(stream_flags);
}

// ---- remedies ----

void device_results(trial& t) {
  t.open_context();
  reduction_bench b;
  capture_reductions(b, CUBLAS_POINTER_MODE_HOST);
  t.apply("CUBLAS_POINTER_MODE_DEVICE, and results in device memory");
  capture_reductions(b, CUBLAS_POINTER_MODE_DEVICE);
}

void ask_first(trial& t) {
  t.open_context();
  lt_bench b(blocking);
  t.apply("ask the heuristic before the capture");
  ask_then_capture(b);
}

void device_alpha(trial& t) {
  recording r = warm_recording(t);
  change_alpha_on_host(r);
  t.apply("CUBLAS_POINTER_MODE_DEVICE, and scalars in device memory");
  change_alpha_on_device(r);
}

void capture_non_blocking(trial& t) {
  t.open_context();
  multiply_beside(blocking);
  t.apply("capture a non-blocking stream");
  multiply_beside(non_blocking);
}

// ---- the case ----

void calls(failure_case& c) {
  c.control("products, results in device memory, heuristics asked before", control);

  c.fault("host_results", "cublasSdot, cublasSnrm2 and cublasSasum with results in host memory",
          host_results);
  c.remedy("device_results", "the results in device memory", device_results);

  for (const bool blocks : {true, false}) {
    const std::string stream = blocks ? "blocking" : "non_blocking";
    c.fault("heuristic_" + stream,
            fmt::format("cublasLtMatmulAlgoGetHeuristic during the capture of a {} stream",
                        blocks ? "blocking" : "non-blocking"),
            [blocks](trial& t) { heuristic_within(t, blocks ? blocking : non_blocking); });
  }
  c.remedy("ask_first", "the heuristic asked before the capture", ask_first).against = "heuristic_blocking";

  c.fault("autotuned", "CUBLAS_GEMM_AUTOTUNE for a product that it has not met", autotuned);

  c.fault("frozen_alpha", "an alpha in host memory that changes after the capture", frozen_alpha);
  c.remedy("device_alpha", "alpha in device memory", device_alpha);

  c.fault("legacy_stream", "a product on the legacy stream during the capture of a blocking stream",
          [](trial& t) { beside(t, blocking); });
  c.remedy("capture_non_blocking", "the capture of a non-blocking stream", capture_non_blocking);

  c.in_tier = {"control", "host_results", "device_results", "frozen_alpha", "legacy_stream"};
}

const register_case here("capture.calls",
                         "calls that a capture refuses, is invalidated by, or records otherwise than meant",
                         {"F-CAP-04", "F-CAP-06", "F-CAP-07", "F-CAP-09", "F-CAP-10", "RN-16"}, calls);

}  // namespace
}  // namespace cufault
