// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cudaMalloc and cublasCreate right after cudaFreeAsync, although this program has freed the memory: its pool has it.
// Why          cudaFreeAsync returns memory to its pool. At the next synchronization the pool returns only what exceeds its release
//              threshold, which programs raise to avoid repeated allocation.
// Measured     Even from a pool that may keep everything, cudaMalloc and cublasCreate get their memory after a wait for the device. Before
//              it, even a trim returns nothing.
// Documented   CUDA C++ Programming Guide, stream-ordered memory allocator: physical page caching, cudaMemPoolTrimTo.
//              Users report cublasCreate failing beside a cache: pytorch#128601, pytorch#124250.
// What helps   Recommended: trim the pool. Cells of full_pool wait first, with a trim or without: that clears it.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

/// Fills the device through the pool, and frees everything in stream order without a wait.
void fill_and_free(trial& t, stream_ordered_memory& pool) {
  { const memory_pressure in_the_pool(pool, 0); }
  t.sample("freed to the pool");
  t.measure("kept by the pool", static_cast<double>(pool.reserved_bytes()), "bytes");
}

void allocate_and_free() {
  void* memory = nullptr;
  if (CUFAULT_OBSERVE(cudaMalloc(&memory, 1_GiB)) == cudaSuccess) CUFAULT_REQUIRE(cudaFree(memory));
}

cublasStatus_t work() {
  allocate_and_free();
  return create_and_multiply();
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  pool.keep(0);
  fill_and_free(t, pool);
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  work();
}

// ---- faults ----

void kept(trial& t) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  fill_and_free(t, pool);
  work();
}

// ---- remedies ----

void trim(trial& t) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  fill_and_free(t, pool);
  work();
  t.apply("cudaMemPoolTrimTo(pool, 0), with no wait before it");
  pool.trim();
  t.sample("applied");
  work();
}

// ---- the case ----

void pool_keeps_memory(failure_case& c) {
  c.control("a pool with the default release threshold, 0", control);
  c.fault("kept", "a pool that keeps everything, right after cudaFreeAsync", kept);
  c.remedy("trim", "cudaMemPoolTrimTo(pool, 0), with no wait before it", trim, {"S0-14"});
  add_counterpart(c, "kept");
  c.in_tier = {"control", "kept", "trim"};
}

const register_case here("memory.pool_keeps_memory",
                         "memory that was freed, but that a stream-ordered pool keeps from everybody else",
                         {"F-MEM-03"}, pool_keeps_memory);

}  // namespace
}  // namespace cufault
