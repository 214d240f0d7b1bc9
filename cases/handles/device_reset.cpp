// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product and cublasDestroy after cudaDeviceReset, though not every time: the arms have rates. device_reset and
//              device_reset_new_context of the matrix have the other operations.
// Why          The reset destroys the context with the handle's workspace, streams and kernels; the handle is not notified.
// Documented   CUDA Runtime API, cudaDeviceReset: destroys all allocations and resets all state of the device in the process. cuBLAS
//              documentation, 2.1.2: a handle must not outlive its context. cutorch#121, #129, kaldi#2178, LBANN#1769.
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

cublasHandle_t working_handle(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  CUFAULT_REQUIRE(product(handle));
  return handle;
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasSetStream(handle, nullptr));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  const cublasLtHandle_t lt = observed_lt_handle();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- faults ----

void multiply_after(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
}

void destroy_after(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- dead ends ----

// ---- remedies, in place from the start: what they answer may end the process ----

void another_handle(trial& t) {
  working_handle(t);
  t.apply("another handle after the reset, the old one left alone");
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

// ---- the case ----

void device_reset(failure_case& c) {
  c.control("the same calls without a reset", control);

  c.fault("multiply", "a product after the reset", multiply_after);
  c.fault("destroy", "cublasDestroy after the reset", destroy_after);
  c.repeat_undefined({"multiply"}, "the handle points to what the reset has freed", 5);
  c.repeat_undefined({"destroy"}, "the handle points to what the reset has freed", 10);
  c.remedy("another_handle", "another handle after the reset", another_handle).against = "multiply";
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(60);  // a reset beside other work takes ten seconds
}

const register_case here("handles.device_reset", "handles that are used or destroyed after cudaDeviceReset",
                         {"F-LIF-05"}, device_reset);

}  // namespace
}  // namespace cufault
