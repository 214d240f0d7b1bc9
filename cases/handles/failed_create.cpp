// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A call with the variable that a failed cublasCreate should have filled.
// Why          The program tests the handle instead of the status. The variable keeps its earlier value.
// Documented   cuBLAS documentation, 2.2.2 cublasStatus_t: NOT_INITIALIZED if cublasCreate was not called. One source document says to
//              check the handle for null (S0-12).
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0, each in 5 runs of 5: null stays null, and cublasSgemm with it returns
//              NOT_INITIALIZED. A pointer to garbage stays too; with it cublasSgemm returns NOT_SUPPORTED, without a GPU INVALID_VALUE.
// What helps   Acting on cublasCreate's status.
#include "cases/handles/no_handle.hpp"
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

product_operands operands() {
  product_operands on;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on));
  return on;
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  const product_operands on = operands();
  const cublasHandle_t handle = observed_handle();
  observe_sgemm(handle, on);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- faults ----

/// cublasCreate fails, and the caller tests the handle instead of the status.
cublasHandle_t create_and_look_for_null(trial& t, void* before) {
  auto handle = static_cast<cublasHandle_t>(before);
  const cublasStatus_t status = CUFAULT_OBSERVE(cublasCreate(&handle));
  if (status == CUBLAS_STATUS_SUCCESS)
    throw not_provoked("cublasCreate, which was to fail, succeeded; there is no failure to detect");
  t.measure("handle is null after cublasCreate", handle == nullptr ? 1 : 0);
  t.measure("handle is as it was before cublasCreate", handle == before ? 1 : 0);
  return handle;
}

void ignore_the_status_without_a_gpu(trial& t, void* before) {
  observe_sgemm(create_and_look_for_null(t, before), {});
}

void ignore_the_status(trial& t, void* before) {
  t.open_context();
  const product_operands on = operands();
  const memory_pressure held(16_MiB);
  observe_sgemm(create_and_look_for_null(t, before), on);
}

// ---- remedies ----

void check_the_status(trial& t) {
  t.open_context();
  const product_operands on = operands();
  memory_pressure held(16_MiB);
  const cublasHandle_t handle = observed_handle();
  observe_sgemm(handle, on);
  t.apply("act on cublasCreate's status: free the memory, create again");
  held.release();
  create_and_multiply();
}

// ---- the case ----

void failed_create(failure_case& c) {
  c.control("cublasCreate with room for it", control);
  on_the_host(c.add("control_host", arm_kind::control, "both libraries are loaded and answer without a GPU",
                    libraries_answer));

  on_the_host(c.fault("null_host", "no device, the variable null before",
                      [](trial& t) { ignore_the_status_without_a_gpu(t, nullptr); }, {"S0-12"}));
  racing_by_what_lies_there(on_the_host(
      c.fault("uninitialised_host", "no device, the variable a pointer to garbage before",
              [](trial& t) { ignore_the_status_without_a_gpu(t, block_of(garbage_byte)); }, {"S0-12"})));
  c.fault("null", "too little memory, the variable null before",
          [](trial& t) { ignore_the_status(t, nullptr); }, {"S0-12"});
  racing_by_what_lies_there(
      c.fault("uninitialised", "too little memory, the variable a pointer to garbage before",
              [](trial& t) { ignore_the_status(t, block_of(garbage_byte)); }, {"S0-12"}));

  c.remedy("check_the_status", "act on the status of cublasCreate", check_the_status).against = "null";
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(20);
  for (const char* squeezed : {"null", "uninitialised"}) add_counterpart(c, squeezed);
  c.run_beside_others({"control"});
  c.in_tier = {"control_host", "null_host"};
}

const register_case here("handles.failed_create",
                         "what a failed cublasCreate leaves behind, taken for a handle", {"F-LIF-01"},
                         failed_create);

}  // namespace
}  // namespace cufault
