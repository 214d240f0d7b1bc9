// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, and then whatever needs device memory, after handles were created and never destroyed.
// Why          Each handle keeps a workspace in device memory until cublasDestroy.
// Documented   cuBLAS documentation, 2.1.2 and cublasDestroy; LeetCUDA#414, TransformerEngine#1372, TensorRT-LLM#8533.
//              One source document says that the leak ends in CUBLAS_STATUS_INTERNAL_ERROR (S0-10); measured: ALLOC_FAILED.
// What helps   Destroying handles: as many rounds of work as would have failed twice over without it.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cublasLt.h>

#include <stdexcept>

namespace cufault {
namespace {

/// Memory that the leak has to fill, small for speed: about a hundred handles of the default workspace on this class of GPU.
constexpr std::uint64_t memory_to_fill = 8_GiB;
constexpr std::size_t more_than_any_device_holds = 100'000;

// A loop is one observation: it returns the first status other than success. Single observations of thousands of equal calls would say no
// more.

cublasStatus_t create_until_failure(std::vector<cublasHandle_t>& handles, std::size_t most) {
  while (handles.size() < most) {
    cublasHandle_t handle = nullptr;
    if (const cublasStatus_t status = cublasCreate(&handle); status != CUBLAS_STATUS_SUCCESS) return status;
    handles.push_back(handle);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy_all(std::vector<cublasHandle_t>& handles) {
  for (; !handles.empty(); handles.pop_back()) {
    if (const cublasStatus_t status = cublasDestroy(handles.back()); status != CUBLAS_STATUS_SUCCESS)
      return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t create_and_destroy_each(std::size_t rounds) {
  for (std::size_t i = 0; i < rounds; ++i) {
    cublasHandle_t handle = nullptr;
    if (const cublasStatus_t status = cublasCreate(&handle); status != CUBLAS_STATUS_SUCCESS) return status;
    if (const cublasStatus_t status = cublasDestroy(handle); status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// Work that throws before the cublasDestroy of its try block; the caller continues. *thrown: number of exceptions.
cublasStatus_t throw_often(std::size_t rounds, std::size_t* thrown) {
  for (std::size_t i = 0; i < rounds; ++i) {
    cublasHandle_t handle = nullptr;
    try {
      if (const cublasStatus_t status = cublasCreate(&handle); status != CUBLAS_STATUS_SUCCESS) return status;
      if (handle != nullptr) throw std::runtime_error("the work failed");
      cublasDestroy(handle);
    } catch (const std::runtime_error&) {  // logged and forgotten, as in the document's example
      ++*thrown;
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// The leak, measured: number of handles, bytes of each on device and host.
std::vector<cublasHandle_t> leak(trial& t) {
  std::vector<cublasHandle_t> handles;
  CUFAULT_REQUIRE(create_until_failure(handles, 1));  // the first handle of a process also loads code
  const std::size_t device_before = free_device_memory(), host_before = resident_host_memory();
  CUFAULT_OBSERVE_AS("cublasCreate", "until_failure",
                     create_until_failure(handles, more_than_any_device_holds));
  t.sample("leaked");
  t.measure("handles created", static_cast<double>(handles.size()), "handles");
  if (const auto further = static_cast<double>(handles.size() - 1); further > 0) {
    t.measure("device memory per handle", static_cast<double>(device_before - free_device_memory()) / further,
              "bytes");
    t.measure("host memory per handle",
              (static_cast<double>(resident_host_memory()) - static_cast<double>(host_before)) / further,
              "bytes");
  }
  return handles;
}

/// Number of rounds that would fill the memory twice if each leaked a handle. Measured with one handle, destroyed again.
std::size_t rounds_that_would_fail(trial& t) {
  std::vector<cublasHandle_t> handles;
  CUFAULT_REQUIRE(create_until_failure(handles, 1));
  const std::size_t before = free_device_memory();
  CUFAULT_REQUIRE(create_until_failure(handles, 2));
  const std::size_t each = before - std::min(before, free_device_memory());
  CUFAULT_REQUIRE(destroy_all(handles));
  if (each == 0)
    throw not_provoked("a handle takes no device memory of its own here: there is nothing to leak");
  const std::size_t rounds = 2 * free_device_memory() / each;
  t.measure("rounds planned", static_cast<double>(rounds));
  return rounds;
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  create_and_multiply();
  const std::size_t before = free_device_memory();
  create_and_multiply();
  t.measure("device memory not given back by cublasDestroy",
            static_cast<double>(before) - static_cast<double>(free_device_memory()), "bytes");
}

// ---- faults ----

void leak_in_a_corner(trial& t) {
  t.open_context();
  const memory_pressure held(memory_to_fill);
  t.sample("squeezed");
  leak(t);
}

void leak_the_whole_device(trial& t) {
  t.open_context();
  leak(t);
}

/// What else fails after the leak has filled the memory.
void work_after_leak(trial& t) {
  t.open_context();
  const memory_pressure held(memory_to_fill);
  t.sample("squeezed");
  const auto handles = leak(t);
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, 64_MiB));
  cudaGetLastError();
  observed_lt_handle();
  const cublasHandle_t old_handle = handles.front();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(old_handle));
}

void thrown_past_the_destroy(trial& t) {
  t.open_context();
  const memory_pressure held(memory_to_fill);
  t.sample("squeezed");
  const std::size_t rounds = rounds_that_would_fail(t);
  std::size_t thrown = 0;
  CUFAULT_OBSERVE_AS("cublasCreate", "exceptions_thrown", throw_often(rounds, &thrown));
  t.sample("thrown");
  t.measure("exceptions thrown", static_cast<double>(thrown));
}

// ---- remedies ----

void destroy_each(trial& t) {
  t.open_context();
  const memory_pressure held(memory_to_fill);
  t.sample("squeezed");
  const std::size_t rounds = rounds_that_would_fail(t);
  t.apply("destroy each handle before the next is created");
  CUFAULT_OBSERVE_AS("cublasCreate", "destroyed_each_time", create_and_destroy_each(rounds));
  create_and_multiply();
}

// ---- the case ----

void handle_leak(failure_case& c) {
  c.control("create, multiply, destroy, twice", control);

  c.fault("leak_8_gib", "leak until 8 GiB are gone", leak_in_a_corner, {"S0-10"});
  c.fault("leak_whole_device", "leak until the device is full", leak_the_whole_device, {"S0-10"});
  c.fault("what_breaks_then", "cudaMalloc, cublasLtCreate and an old handle, once 8 GiB are gone",
          work_after_leak, {"S0-11"});
  c.fault("thrown_past_destroy", "the work throws before the cublasDestroy at the end of its try block",
          thrown_past_the_destroy, {"S0-13"});

  c.remedy("destroy_each", "destroy each handle before the next", destroy_each).against = "leak_8_gib";
  for (const char* squeezed : {"leak_8_gib", "what_breaks_then", "thrown_past_destroy"})
    add_counterpart(c, squeezed);
  c.in_tier = {"control", "leak_8_gib", "destroy_each"};
}

const register_case here(
    "memory.handle_leak",
    "cuBLAS handles that are created and never destroyed, until nothing can be created any more",
    {"F-LIF-03", "F-MEM-04"}, handle_leak);

}  // namespace
}  // namespace cufault
