// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A cuBLAS handle that is used after cudaDeviceReset: a product returns EXECUTION_FAILED and leaves the context damaged,
//              or crashes, cublasDestroy crashes, though not every time. cublasSetStream and a cublasLt handle do not fail.
// Why          The reset destroys the context in which the handle's workspace, streams and kernels live; the handle is not told.
// Documented   CUDA Runtime API, cudaDeviceReset: destroys all allocations and resets all state of the device in the process. cuBLAS
//              documentation, 2.1.2: a handle must not outlive its context. cutorch#121, #129, kaldi#2178, LBANN#1769.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: cublasDestroy crashes in 72 of 90 runs (40 of 40, 25 of
//              40 and 7 of 10), a product in 4 of 15; where one survives, a further handle works.
// What helps   Dropping the reset; destroying the handle before it; another handle after it. Selecting the device again with
//              the old handle, and destroying the old handle afterwards, are measured as dead ends.
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

cublasHandle_t working_handle(trial& t) {
  t.open_context();
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));
  return handle;
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasSetStream(handle, nullptr));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  cublasLtHandle_t lt = nullptr;
  CUFAULT_OBSERVE(cublasLtCreate(&lt));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- faults ----

void multiply_after(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
}

void set_stream_after(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE(cublasSetStream(handle, nullptr));
}

void destroy_after(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

void lt_after(trial& t) {
  t.open_context();
  cublasLtHandle_t lt = nullptr;
  CUFAULT_REQUIRE(cublasLtCreate(&lt));
  CUFAULT_REQUIRE(lt_product(lt));
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- remedies, in place from the start: what they answer may end the process ----

void another_handle(trial& t) {
  working_handle(t);
  t.apply("another handle after the reset, the old one left alone");
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

void destroy_before(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  t.apply("destroy the handle before the reset, create another after it");
  CUFAULT_OBSERVE(cublasDestroy(handle));
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

void drop_the_reset(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  t.apply("cudaDeviceSynchronize() in place of the reset");
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- dead ends ----

void select_the_device_again(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  t.apply("cudaSetDevice() and cudaFree(nullptr) after the reset, the same handle");
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE(cudaSetDevice(t.device()));
  CUFAULT_OBSERVE(cudaFree(nullptr));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
}

void destroy_late(trial& t) {
  const cublasHandle_t handle = working_handle(t);
  t.apply("destroy the old handle after the reset, create another");
  CUFAULT_OBSERVE(cudaDeviceReset());
  CUFAULT_OBSERVE(cublasDestroy(handle));
  create_and_multiply();
}

// ---- the case ----

failure_case device_reset() {
  failure_case c;
  c.name = "handles.device_reset";
  c.summary = "handles that are used or destroyed after cudaDeviceReset";
  c.failures = {"F-LIF-05"};
  const auto racing = [](arm& a, int repeats = 5) -> arm& {
    a.races = "the handle points to what the reset has freed";
    a.repeats = repeats;
    return a;
  };
  constexpr int sometimes_survived = 10;
  c.add("control", arm_kind::control, "the same calls without a reset", control);

  racing(c.add("multiply", arm_kind::fault, "a product after the reset", multiply_after));
  c.add("set_stream", arm_kind::fault, "cublasSetStream after the reset", set_stream_after);
  racing(c.add("destroy", arm_kind::fault, "cublasDestroy after the reset", destroy_after),
         sometimes_survived);
  c.add("lt", arm_kind::fault, "a cublasLt product and cublasLtDestroy after the reset", lt_after);

  c.add("another_handle", arm_kind::remedy, "another handle after the reset", another_handle).against =
      "multiply";
  c.add("destroy_before", arm_kind::remedy, "destroy before the reset, create after it", destroy_before)
      .against = "multiply";
  c.add("drop_the_reset", arm_kind::remedy, "no reset", drop_the_reset).against = "multiply";

  racing(c.add("select_again", arm_kind::dead_end, "select the device again, the same handle",
               select_the_device_again))
      .against = "multiply";
  racing(c.add("destroy_late", arm_kind::dead_end, "destroy the old handle after the reset, create another",
               destroy_late),
         sometimes_survived)
      .against = "multiply";
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(60);  // a reset beside other work takes ten
  return c;
}

const register_case here{device_reset()};

}  // namespace
}  // namespace cufault
