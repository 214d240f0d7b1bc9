// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A handle that was created in one context and is used while another context of the same device is current.
// Why          The handle's workspace belongs to the context in which it was created. Supposed: its code is loaded in both.
// Documented   cuBLAS documentation, 2.1.2 cuBLAS Context: a handle is tied to the context that was current when it was created. What
//              happens otherwise is not documented.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a product returns EXECUTION_FAILED, a small one too, and damages nothing.
//              other_context of the matrix has every operation, and a workspace of the current context.
// What helps   Making the handle's own context current.
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

/// Uses operands of the current context.
void multiply_and_split(cublasHandle_t handle) {
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  large_product split(splitting);
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", split.multiply(handle));
}

void create_multiply_split() {
  const cublasHandle_t handle = observed_handle();
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

// ---- remedies, in place from the start: what they answer may damage both contexts ----

void make_its_context_current(trial& t) {
  t.open_context();
  const cublasHandle_t of_the_first = working_handle();
  const second_context other(t.device());
  t.apply("make the handle's context current");
  CUFAULT_OBSERVE(driver::cuCtxSetCurrent(other.first()));
  multiply_and_split(of_the_first);
}

// ---- the case ----

void wrong_context(failure_case& c) {
  c.control("each context with a handle of its own, one after the other", control);

  c.fault("multiply", "a small product with the other context current", multiply);
  c.fault("split", "a product that takes workspace, with the other context current", split);
  c.remedy("make_current", "make the handle's context current", make_its_context_current).against = "split";

  for (arm& a : c.arms) a.timeout = std::chrono::seconds(20);
  c.in_tier = {"control", "split", "make_current"};
  c.share_process();
}

const register_case here("handles.wrong_context",
                         "a handle of one context used while another one of the same device is current",
                         {"F-LIF-09"}, wrong_context);

}  // namespace
}  // namespace cufault
