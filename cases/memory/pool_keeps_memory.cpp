// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cudaMalloc and cublasCreate right after cudaFreeAsync, although this program has freed the memory: its pool has it.
// Why          cudaFreeAsync gives memory back to its pool. The pool gives it back to the device at the next synchronization, and
//              then only what exceeds the release threshold, which programs raise so as not to allocate again and again.
// Measured     Even from a pool that may keep everything cudaMalloc and cublasCreate get what they need, once the device has been
//              waited for. Before that not even a trim gives anything back.
// Documented   CUDA C++ Programming Guide, stream-ordered memory allocator: physical page caching, cudaMemPoolTrimTo.
//              Users report cublasCreate failing beside a cache: pytorch#128601, pytorch#124250.
// What helps   Recommended: trim the pool; lower its threshold; allocate from the pool that has the memory. Measured too: waiting for
//              the device alone. Freeing again and clearing the error are measured as dead ends.
#include "cases/memory/empty_pool.hpp"
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

/// Fills the device through the pool, and frees all of it, which is only ordered by that: nobody waits for it.
void fill_and_free(trial& t, stream_ordered_memory& pool) {
  { const memory_pressure in_the_pool(pool, 0); }
  t.sample("freed to the pool");
  t.measure("kept by the pool", static_cast<double>(pool.reserved_bytes()), "bytes");
}

void allocate_and_free() {
  void* memory = nullptr;
  if (CUFAULT_OBSERVE(cudaMalloc(&memory, 1_GiB)) == cudaSuccess) CUFAULT_REQUIRE(cudaFree(memory));
}

// What a stream-ordered allocation takes it leaves in the pool.
cudaError_t allocate_and_free_in_the_pool() {
  void* memory = nullptr;
  if (const cudaError_t e = cudaMallocAsync(&memory, 1_GiB, nullptr); e != cudaSuccess) return e;
  return cudaFreeAsync(memory, nullptr);
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

void kept_and_waited_for(trial& t) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  fill_and_free(t, pool);
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  work();
}

// ---- remedies and dead ends ----

void after_the_failure(trial& t, const char* applied, void (*then)(stream_ordered_memory&)) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  fill_and_free(t, pool);
  work();
  t.apply(applied);
  then(pool);
  t.sample("applied");
  work();
}

void trim(stream_ordered_memory& pool) {
  pool.trim();
}

void lower_the_threshold(stream_ordered_memory& pool) {
  pool.keep(0);
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

void lower_the_threshold_and_free(stream_ordered_memory& pool) {
  pool.keep(0);
  CUFAULT_OBSERVE_AS("cudaMallocAsync", "freed_at_once", allocate_and_free_in_the_pool());
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

void synchronize(stream_ordered_memory&) {
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

void free_again(stream_ordered_memory&) {
  CUFAULT_OBSERVE_AS("cudaMallocAsync", "freed_at_once", allocate_and_free_in_the_pool());
}

void clear_the_last_error(stream_ordered_memory&) {
  cudaGetLastError();
}

/// The handle is older than the shortage and warm: it is the program's own memory that is missing.
void allocate_from_the_pool(trial& t) {
  t.open_context();
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));
  stream_ordered_memory pool(t.device());
  fill_and_free(t, pool);
  allocate_and_free();
  t.apply("cudaMallocAsync from the pool that keeps the memory");
  CUFAULT_OBSERVE_AS("cudaMallocAsync", "freed_at_once", allocate_and_free_in_the_pool());
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_REQUIRE(cublasDestroy(handle));
}

// ---- the case ----

failure_case pool_keeps_memory() {
  failure_case c;
  c.name = "memory.pool_keeps_memory";
  c.summary = "memory that was freed, but that a stream-ordered pool keeps from everybody else";
  c.failures = {"F-MEM-03"};
  const auto after = [&](const std::string& name, arm_kind kind, const char* applied,
                         void (*then)(stream_ordered_memory&), const char* claim = nullptr) {
    arm& a = c.add(name, kind, applied, [=](trial& t) { after_the_failure(t, applied, then); });
    if (claim != nullptr) a.claims = {claim};
  };
  c.add("control", arm_kind::control, "a pool with the default release threshold, 0", control);
  c.add("kept", arm_kind::fault, "a pool that keeps everything, right after cudaFreeAsync", kept);
  c.add("kept_and_waited_for", arm_kind::fault, "a pool that keeps everything, once the device is idle",
        kept_and_waited_for);

  after("trim", arm_kind::remedy, "cudaMemPoolTrimTo(pool, 0), with no wait before it", trim, "S0-14");
  after("synchronize_and_trim", arm_kind::remedy, "cudaDeviceSynchronize(), cudaMemPoolTrimTo(pool, 0)",
        empty_pool, "S0-14");
  c.add("same_pool", arm_kind::remedy, "allocate from the pool that keeps the memory",
        allocate_from_the_pool);
  after("threshold", arm_kind::remedy, "release threshold 0, synchronize", lower_the_threshold);
  after("threshold_and_free", arm_kind::remedy, "release threshold 0, one more cudaFreeAsync, synchronize",
        lower_the_threshold_and_free);

  after("synchronize", arm_kind::remedy, "cudaDeviceSynchronize()", synchronize);
  after("free_again", arm_kind::dead_end, "one more cudaFreeAsync", free_again);
  after("clear_last_error", arm_kind::dead_end, "cudaGetLastError()", clear_the_last_error);
  add_counterpart(c, "kept");  // the other one is about what the driver itself takes back from the pool
  c.in_tier = {"control", "kept", "trim"};
  return c;
}

const register_case here{pool_keeps_memory()};

}  // namespace
}  // namespace cufault
