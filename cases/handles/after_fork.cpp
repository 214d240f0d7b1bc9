// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nearly every CUDA and cuBLAS call in a process that was forked after its parent had initialised CUDA.
// Why          A driver's state belongs to the process that initialised it; the child has a copy that stands for nothing.
// Documented   CUDA documentation: a context cannot be used in a forked child. Reported: error 3 and NOT_INITIALIZED in the
//              child; tensorflow#57877, pycuda#137, DALI#4275, vllm#32611, torchrec#3284, and vllm#44252 for programs that had only
//              asked for the devices.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: in the child cudaGetDeviceCount alone still answers; cuDeviceGetCount is
//              CUDA_ERROR_NOT_INITIALIZED, cudaMalloc cudaErrorInitializationError, cublasCreate and cublasLtCreate NOT_INITIALIZED. The
//              inherited handle's product is INTERNAL_ERROR; the parent's handle works on. forked_child of the matrix has every operation.
// What helps   Forking before anything initialises CUDA. Initialising the driver again in the child is measured as a dead end.
#include "harness/binding/driver_api.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

/// The parent's state at the fork: a working handle, and operands.
struct inherited {
  cublasHandle_t handle = nullptr;
  product_operands operands;
};

inherited initialised_parent(trial& t) {
  t.open_context();
  inherited parent;
  CUFAULT_REQUIRE(cublasCreate(&parent.handle));
  CUFAULT_REQUIRE(product(parent.handle));
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &parent.operands));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  return parent;
}

/// Checks that a child can make before it uses CUDA, then the first calls of a program.
void calls_of_a_child() {
  int devices = 0;
  CUFAULT_OBSERVE(driver::cuDeviceGetCount(&devices));
  CUFAULT_OBSERVE(cudaGetDeviceCount(&devices));
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, 1 << 20));
  observed_handle();
  observed_lt_handle();
}

// ---- control ----

void control(trial& t) {
  const inherited parent = initialised_parent(t);
  calls_of_a_child();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(parent.handle));
}

// ---- faults ----

void call_in_the_child(trial& t) {
  const inherited parent = initialised_parent(t);
  t.in_forked_child(calls_of_a_child);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(parent.handle));
}

// ---- remedies ----

void fork_first(trial& t) {
  t.apply("fork before anything initialises CUDA; parent and child each initialise it");
  t.in_forked_child([&t] {
    t.open_context();
    create_and_multiply();
  });
  t.open_context();
  create_and_multiply();
}

// ---- dead ends ----

/// In the child, after an inherited handle failed.
void initialise_in_the_child(trial& t) {
  const inherited parent = initialised_parent(t);
  t.in_forked_child([&] {
    // Not product(), whose own kernels would fail before cublasSgemm.
    CUFAULT_OBSERVE_AS("cublasSgemm", "split_k_unchecked", sgemm(parent.handle, parent.operands));
    t.apply("cuInit(0) and cudaSetDevice() in the child, create another handle");
    CUFAULT_OBSERVE(driver::cuInit(0U));
    CUFAULT_OBSERVE(cudaSetDevice(t.device()));
    create_and_multiply();
  });
}

// ---- the case ----

void after_fork(failure_case& c) {
  c.control("the same calls without a fork", control);

  c.fault("child_calls", "first calls in the child, then a product in the parent", call_in_the_child);

  c.remedy("fork_first", "fork before CUDA is initialised", fork_first).against = "child_calls";

  c.dead_end("initialise_in_child", "cuInit and cudaSetDevice in the child", initialise_in_the_child);
  // The child may hang on a lock without an owner.
  for (arm& a : c.arms)
    a.timeout = std::chrono::seconds(30);  // two processes open contexts beside other work
  c.in_tier = {"control", "child_calls", "fork_first"};
}

const register_case here("handles.after_fork",
                         "CUDA and cuBLAS in a process that was forked after its parent had initialised CUDA",
                         {"F-LIF-02"}, after_fork);

}  // namespace
}  // namespace cufault
