// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A program that checks for CUDA errors only after its cuBLAS calls, and blames these.
// Why          A launch that the runtime refuses does and damages nothing, but leaves its error until somebody asks for it.
// Documented   CUDA Runtime API, cudaGetLastError and cudaPeekAtLastError; cudaError_t 701, and 9 for too many
//              threads or too much shared memory. Reported with cuBLAS as the one that seemed to fail:
//              CUDAnative.jl#293, TensorRT-YOLO#11, infer#6.
// Measured     With runtime 13.0 error 1, invalid argument, in place of 9. No cuBLAS call fails because of an
//              error that was left behind, and none of them clears it.
// What helps   Recommended: a smaller block; asking for the error straight after each launch.
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/printed_text.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <array>

namespace cufault {
namespace {

// The kernel of a refused launch with one thread and no shared memory, which is not refused.
cudaError_t same_kernel_in_one_thread() {
  if (const cudaError_t e = launch_delay(nullptr, 0)) return e;
  return cudaDeviceSynchronize();
}

/// A launch that is refused.
struct refusal {
  cudaError_t (*launch)(cudaStream_t);
  const char* name;
  const char* words;
  cudaError_t (
      *corrected)();  ///< the same kernel, launched so that it fits; nullptr: the arm carries on without it
};
constexpr std::array refusals{
    refusal{launch_with_too_many_resources, "too_many_resources", "more registers than there are", nullptr},
    refusal{launch_with_bad_configuration, "bad_configuration", "more threads in a block than there may be",
            same_kernel_in_one_thread},
    refusal{launch_with_too_much_shared_memory, "too_much_shared_memory", "more shared memory than there is",
            same_kernel_in_one_thread}};

cudaError_t launch(const refusal& r) {
  return r.launch(nullptr);
}

cudaError_t launch_that_fits() {
  constexpr std::size_t count = 1000;
  float* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, count * sizeof(float)));
  return launch_fill(memory, count, 1, nullptr);
}

void open(trial& t) {
  context_with_faults(t);
}

/// Calls that a left-over error might make fail.
void work_with_cublas() {
  const cublasHandle_t handle = observed_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  const cublasLtHandle_t lt = observed_lt_handle();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

// ---- control ----

void control(trial& t) {
  open(t);
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fits", launch_that_fits());
  work_with_cublas();
  CUFAULT_OBSERVE(cudaPeekAtLastError());
}

// ---- faults ----

void unchecked(trial& t, const refusal& r) {
  open(t);
  CUFAULT_OBSERVE_AS("cudaLaunchKernel", "refused", launch(r));
  work_with_cublas();
  CUFAULT_OBSERVE(cudaPeekAtLastError());
}

/// Like a program that checks after cuBLAS and nowhere else.
void blamed(trial& t, const refusal& r) {
  open(t);
  cublasHandle_t const handle = new_handle();
  const printed_text printed = printed_by([&] {
    CUFAULT_OBSERVE_AS("cudaLaunchKernel", "refused", launch(r));
    CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
    CUFAULT_OBSERVE(cudaGetLastError());
  });
  t.measure("characters printed", static_cast<double>(printed.out.size() + printed.err.size()));
}

// ---- remedies ----

void consume_the_error(trial& t, const refusal& r) {
  open(t);
  cublasHandle_t const handle = new_handle();
  launch(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cudaPeekAtLastError());
  t.apply("cudaGetLastError() straight after the launch");
  if (launch(r) == cudaSuccess) throw not_provoked("the second launch, which was to be refused, was not");
  cudaGetLastError();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cudaPeekAtLastError());
}

void carry_on(trial& t, const refusal& r) {
  open(t);
  CUFAULT_OBSERVE_AS("cudaLaunchKernel", "refused", launch(r));
  t.apply("carry on, as after catching an exception");
  if (r.corrected != nullptr) CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "one_thread", r.corrected());
  work_with_cublas();
}

void smaller_block(trial& t, const refusal& r) {
  open(t);
  t.apply("a block of one thread instead of 2048");
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "one_thread", r.corrected());
  work_with_cublas();
  CUFAULT_OBSERVE(cudaPeekAtLastError());
}

// ---- the case ----

void refused_launch(failure_case& c) {
  c.control("a launch that is not refused, then cuBLAS", control);

  const auto with = [](void (*body)(trial&, const refusal&), const refusal& r) {
    return [body, r](trial& t) { body(t, r); };
  };
  for (const refusal& r : refusals) {
    const std::string name = r.name, words = r.words;
    c.fault("unchecked_" + name, words + ", unchecked; then cuBLAS", with(unchecked, r));
    c.remedy("carry_on_" + name, words + "; carry on after it", with(carry_on, r), {"S1-5"});
  }
  const refusal& usual = refusals.front();
  c.fault("blamed", "a refused launch, and the program looks only after a product", with(blamed, usual),
          {"S1-3"});
  c.remedy("consume_error", "ask for the error straight after the refused launch",
           with(consume_the_error, usual));
  arm& smaller = c.remedy("smaller_block", "the same kernel in a block that there may be",
                          with(smaller_block, refusals[1]));
  smaller.against = "unchecked_bad_configuration";
  c.in_tier = {"control", "unchecked_too_many_resources", "carry_on_too_many_resources", "blamed"};
  c.share_process_of({"control", "blamed", "consume_error", "smaller_block"});
}

const register_case here("sticky.refused_launch",
                         "a launch is refused, nobody looks, and cuBLAS is called next", {"F-STK-05"},
                         refused_launch);

}  // namespace
}  // namespace cufault
