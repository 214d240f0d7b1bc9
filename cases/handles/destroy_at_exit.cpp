// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasDestroy from a static object's destructor or an atexit function: always, documents say.
// Why          Exit handlers run latest registered first, and what a handle points to may be gone by then.
// Documented   CUDA Programming Guide: the runtime must not be used once the program's exit has begun. Reported: error 4 or a
//              crash; arrayfire#2374, pytorch#116184, pytorch#97142, cccl#7063, rmm#2366.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: after a cudaDeviceReset during exit, SIGSEGV in 39 runs of 50; without a reset
//              nothing fails.
// What helps   Destroying the handle before exit; never destroying it.
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cstdlib>

namespace cufault {
namespace {

/// Needs no destructor: only functions that an arm registers use it during exit.
cublasHandle_t& the_handle() {
  static cublasHandle_t handle = nullptr;
  return handle;
}

void destroy_the_handle() {
  if (the_handle() != nullptr) CUFAULT_OBSERVE(cublasDestroy(the_handle()));
}

void reset() {
  CUFAULT_OBSERVE(cudaDeviceReset());
}

void reset_and_destroy() {
  reset();
  destroy_the_handle();
}

/// A static object whose destructor calls `Last`, constructed now.
template <void (*Last)()>
void construct_static() {
  struct owner {
    owner() = default;
    ~owner() { Last(); }
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;
  };
  static const owner at_end;
}

template <void (*Last)()>
void register_atexit() {
  if (std::atexit(Last) != 0) throw setup_failed("atexit took no further function");
}

void create_and_use(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE(cublasCreate(&the_handle()));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(the_handle()));
}

void destroy_now() {
  CUFAULT_OBSERVE(cublasDestroy(the_handle()));
  the_handle() = nullptr;
}

// ---- control ----

void control(trial& t) {
  create_and_use(t);
  destroy_now();
  t.end_through_exit();
}

// ---- faults ----

template <void (*Register)()>
void registered_after_cuda(trial& t) {
  create_and_use(t);
  Register();
  t.end_through_exit();
}

// ---- remedies, in place from the start: exit comes once ----

void never_destroy(trial& t) {
  t.apply("the handle is never destroyed");
  create_and_use(t);
  register_atexit<reset>();
  t.end_through_exit();
}

void shut_down_first(trial& t) {
  t.apply("destroy the handle before exit, and leave the exit function nothing to do");
  create_and_use(t);
  destroy_now();
  register_atexit<reset_and_destroy>();
  t.end_through_exit();
}

// ---- the case ----

void destroy_at_exit(failure_case& c) {
  c.control("destroyed before exit", control);

  c.fault("static_after_cuda", "a static object constructed after the handle was used",
          registered_after_cuda<construct_static<destroy_the_handle>>);
  const auto racing = [](arm& a) -> arm& {
    a.races = "the handle points to what the reset has freed";
    a.undefined = true;
    a.repeats = 10;
    return a;
  };
  racing(c.fault("reset_at_exit", "an atexit function that resets the device first",
                 registered_after_cuda<register_atexit<reset_and_destroy>>));

  c.remedy("never_destroy", "never destroy the handle", never_destroy).against = "reset_at_exit";
  c.remedy("shut_down_first", "destroy the handle before exit", shut_down_first).against = "reset_at_exit";

  for (arm& a : c.arms) a.timeout = std::chrono::seconds(60);  // a reset beside other work takes ten seconds
  c.in_tier = {"control", "static_after_cuda"};
}

const register_case here(
    "handles.destroy_at_exit",
    "cublasDestroy while the process exits, from static destructors and atexit functions", {"F-LIF-06"},
    destroy_at_exit);

}  // namespace
}  // namespace cufault
