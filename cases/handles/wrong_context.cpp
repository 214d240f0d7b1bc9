// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A handle that was created in one context and is used while another context of the same device is current.
// Why          The handle's workspace belongs to the context in which it was created. Supposed: its code is loaded in both.
// Documented   cuBLAS documentation, 2.1.2 cuBLAS Context: a handle is tied to the context that was current when it was created. What
//              happens otherwise is not documented.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a product returns EXECUTION_FAILED, a small one too, and damages nothing;
//              cublasSetStream and cublasDestroy succeed. A workspace of the current context makes products right.
// What helps   A handle for each context; making the handle's own context current; a workspace of the current context. Setting its
//              stream is measured as a dead end.
#include "harness/binding/driver_api.hpp"
#include "harness/kit/products.hpp"
#include "harness/kit/second_context.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

/// Long enough for cuBLAS to split it, which takes the handle's workspace.
constexpr product_extents splitting{64, 48, 65'536};

cublasHandle_t working_handle() {
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));
  return handle;
}

/// With operands in the context that is current.
void multiply_and_split(cublasHandle_t handle) {
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  large_product split(splitting);
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", split.multiply(handle));
}

void create_multiply_split() {
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
  multiply_and_split(handle);
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  create_multiply_split();
  const second_context current(t.device());
  create_multiply_split();
}

// ---- faults ----

void multiply(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(of_the_first));
}

void split(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  large_product split(splitting);
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", split.multiply(of_the_first));
}

void set_stream(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  cudaStream_t stream = nullptr;
  CUFAULT_REQUIRE(cudaStreamCreate(&stream));
  CUFAULT_OBSERVE(cublasSetStream(of_the_first, stream));
}

void destroy(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  CUFAULT_OBSERVE(cublasDestroy(of_the_first));
}

// ---- remedies, in place from the start: what they answer may damage both contexts ----

void handle_each(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  t.apply("a handle for each context");
  {
    const second_context current(t.device());
    create_multiply_split();
  }
  multiply_and_split(of_the_first);
}

void make_its_context_current(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context other(t.device());
  t.apply("make the handle's context current");
  CUFAULT_OBSERVE(driver::cuCtxSetCurrent(other.first()));
  multiply_and_split(of_the_first);
}

void set_the_workspace(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  t.apply("cublasSetWorkspace() with memory of the context that is current");
  constexpr std::size_t recommended = 32 << 20;
  void* workspace = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&workspace, recommended));
  CUFAULT_OBSERVE(cublasSetWorkspace(of_the_first, workspace, recommended));
  multiply_and_split(of_the_first);
}

// ---- dead ends ----

void set_the_stream(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context current(t.device());
  t.apply("cublasSetStream(handle, nullptr) in the context that is current");
  CUFAULT_OBSERVE(cublasSetStream(of_the_first, nullptr));
  multiply_and_split(of_the_first);
}

// ---- the case ----

failure_case wrong_context() {
  failure_case c;
  c.name = "handles.wrong_context";
  c.summary = "a handle of one context used while another one of the same device is current";
  c.failures = {"F-LIF-09"};
  c.add("control", arm_kind::control, "each context with a handle of its own, one after the other", control);

  c.add("multiply", arm_kind::fault, "a small product with the other context current", multiply);
  c.add("split", arm_kind::fault, "a product that takes workspace, with the other context current", split);
  c.add("set_stream", arm_kind::fault, "cublasSetStream with a stream of the other context", set_stream);
  c.add("destroy", arm_kind::fault, "cublasDestroy with the other context current", destroy);

  c.add("handle_each", arm_kind::remedy, "a handle for each context", handle_each).against = "split";
  c.add("make_current", arm_kind::remedy, "make the handle's context current", make_its_context_current)
      .against = "split";

  c.add("set_the_stream", arm_kind::dead_end, "set the stream in the other context", set_the_stream).against =
      "split";
  c.add("set_the_workspace", arm_kind::remedy, "a workspace of the other context", set_the_workspace)
      .against = "split";
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(20);
  c.in_tier = {"control", "split", "make_current"};
  c.share_process();
  return c;
}

const register_case here{wrong_context()};

}  // namespace
}  // namespace cufault
