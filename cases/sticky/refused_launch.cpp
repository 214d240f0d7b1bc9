// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A program that looks for CUDA errors only after its cuBLAS calls, and blames them.
// Why          A launch that the runtime refuses does nothing and damages nothing, but leaves its error
//              behind, until somebody asks for it.
// Documented   CUDA Runtime API, cudaGetLastError and cudaPeekAtLastError; cudaError_t 701, 9 and 1. Reported
//              with cuBLAS as the one that seemed to fail: CUDAnative.jl#293, TensorRT-YOLO#11, infer#6.
//              Whether a left-over error makes a cuBLAS call itself fail is measured here.
// What helps   Recommended: a smaller block; asking for the error straight after each launch.
#include "harness/trial.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <array>

namespace cufault {
namespace {

/// A launch that is refused, and the error documented for it.
struct refusal {
  cudaError_t (*launch)(cudaStream_t);
  cudaError_t documented;
  const char* name;
  const char* words;
};
constexpr std::array refusals{refusal{launch_with_too_many_resources, cudaErrorLaunchOutOfResources,
                                      "too_many_resources", "more registers than there are"},
                              refusal{launch_with_bad_configuration, cudaErrorInvalidConfiguration,
                                      "bad_configuration", "more threads in a block than there may be"},
                              refusal{launch_with_too_much_shared_memory, cudaErrorInvalidValue,
                                      "too_much_shared_memory", "more shared memory than there is"}};

cudaError_t launch(const refusal& r) {
  return r.launch(nullptr);
}

cudaError_t launch_that_fits() {
  constexpr std::size_t count = 1000;
  float* memory = nullptr;
  require(cudaMalloc(&memory, count * sizeof(float)));
  return launch_fill(memory, count, 1, nullptr);
}

void open(trial& t) {
  t.open_context();
  require(load_faults());
}

/// Everything that a left-over error could make fail.
void work_with_cublas() {
  cublasHandle_t handle = nullptr;
  observe(cublasCreate(&handle));
  observe(product(handle));
  cublasLtHandle_t light = nullptr;
  observe(cublasLtCreate(&light));
  observe(lt_product(light));
}

// ---- control ----

void control(trial& t) {
  open(t);
  observe(launch_that_fits());
  work_with_cublas();
  observe(cudaPeekAtLastError());
}

// ---- faults ----

void unchecked(trial& t, const refusal& r) {
  open(t);
  const cudaError_t refused = observe(launch(r));
  work_with_cublas();
  observe(cudaPeekAtLastError());
  t.conclude("S1-2", refused == cudaErrorInvalidValue,
             fmt::format("{}: {}", r.words, record_of(refused).name));
}

/// As a program would that checks after cuBLAS and nowhere else.
void blamed(trial& t, const refusal& r) {
  open(t);
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle));
  launch(r);
  const product_result multiplied = observe(product(handle));
  const cudaError_t left = observe(cudaGetLastError());
  t.conclude("S1-3", !multiplied.ok() || left != cudaSuccess,
             fmt::format("a product: {}, cudaGetLastError after it: {}", record_of(multiplied).name,
                         record_of(left).name));
}

// ---- remedies ----

void consume_the_error(trial& t, const refusal& r) {
  open(t);
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle));
  launch(r);
  observe(product(handle));
  observe(cudaPeekAtLastError());
  t.apply("cudaGetLastError() straight after the launch");
  launch(r);
  cudaGetLastError();
  observe(product(handle));
  observe(cudaPeekAtLastError());
}

void carry_on(trial& t, const refusal& r) {
  open(t);
  observe(launch(r));
  t.apply("catch the exception, carry on");
  work_with_cublas();
}

void smaller_block(trial& t) {
  open(t);
  t.apply("a block that the registers allow");
  observe(launch_that_fits());
  work_with_cublas();
  observe(cudaPeekAtLastError());
}

// ---- the case ----

failure_case refused_launch() {
  failure_case c;
  c.name = "sticky.refused_launch";
  c.summary = "a launch is refused, nobody looks, and cuBLAS is called next";
  c.failures = {"F-STK-05"};
  c.add("control", arm_kind::control, "a launch that is not refused, then cuBLAS", control);

  const auto with = [](void (*body)(trial&, const refusal&), const refusal& r) {
    return [body, r](trial& t) { body(t, r); };
  };
  for (const refusal& r : refusals) {
    const std::string name = r.name, words = r.words;
    c.add("unchecked_" + name, arm_kind::fault, words + ", unchecked; then cuBLAS", with(unchecked, r),
          {"S1-2"});
    c.add("carry_on_" + name, arm_kind::remedy, words + "; carry on after it", with(carry_on, r), {"S1-5"});
  }
  const refusal& usual = refusals.front();
  c.add("blamed", arm_kind::fault, "a refused launch, and the program looks only after a product",
        with(blamed, usual), {"S1-3"});
  c.add("consume_error", arm_kind::remedy, "ask for the error straight after the refused launch",
        with(consume_the_error, usual));
  c.add("smaller_block", arm_kind::remedy, "a block that the registers allow", smaller_block).against =
      fmt::format("unchecked_{}", usual.name);
  return c;
}

const register_case here{refused_launch()};

}  // namespace
}  // namespace cufault
