// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory is short: the program, its pool, its handles or another process holds it.
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/neighbour.hpp"
#include "harness/kit/products.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cufault {
namespace {

/// Freed with the object, whose context may be lost.
class held_blocks {
 public:
  held_blocks() = default;
  ~held_blocks() { release(); }
  held_blocks(const held_blocks&) = delete;
  held_blocks& operator=(const held_blocks&) = delete;
  void release() {
    for (void* p : held) cudaFree(p);
    held.clear();
  }

 protected:
  std::vector<void*> held;
};

/// Takes the rest, once no granule can be mapped, by ever smaller allocations down to 512 bytes, which share granules. So whether a small
/// allocation succeeds does not depend on the process's past.
class small_blocks : public held_blocks {
 public:
  small_blocks() { hold(); }
  void hold() {
    constexpr std::size_t first = std::size_t{1} << 20, last = 512;
    // If the smallest allocation fails, all do: mostly so on repetition.
    void* p = nullptr;
    if (cudaMalloc(&p, last) == cudaSuccess) {
      held.push_back(p);
      for (std::size_t bytes = first; bytes >= last; bytes /= 2)
        while (cudaMalloc(&p, bytes) == cudaSuccess) held.push_back(p);
    }
    cudaGetLastError();
  }
};

/// All free device memory in blocks of 64 MiB, of which every second one is freed: free memory is fragmented.
class every_second_block : public held_blocks {
 public:
  every_second_block() { hold(); }
  /// Does nothing if blocks are held already. The device is full for a moment, also for other processes.
  void hold() {
    if (!held.empty()) return;
    constexpr std::size_t bytes = std::size_t{64} << 20;
    std::vector<void*> all;
    for (void* p = nullptr; cudaMalloc(&p, bytes) == cudaSuccess;) all.push_back(p);
    cudaGetLastError();
    if (all.size() < 4) throw not_provoked("there is too little free memory to be in pieces");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 2 == 0) {
        held.push_back(all[i]);
      } else {
        CUFAULT_REQUIRE(cudaFree(all[i]));
      }
    }
  }
};

/// Device memory held by this process, so that this many bytes are left; 0: not even 512. An object of a world.
class device_memory_pressure {
 public:
  explicit device_memory_pressure(std::uint64_t leave_free) : bulk_(device_, leave_free) {
    if (leave_free == 0) rest_.emplace();
    left_ = device_.free_bytes();
  }
  void renew() {
    if (device_.free_bytes() != left_) {
      if (rest_) rest_->release();
      bulk_.renew();
    }
    if (rest_) rest_->hold();
    left_ = device_.free_bytes();
  }
  void release() {
    if (rest_) rest_->release();
    bulk_.release();
  }

 private:
  device_memory& device_ = current_device_memory();
  renewable_pressure bulk_;
  std::optional<small_blocks> rest_;
  std::uint64_t left_ = 0;
};

/// All device memory in the device's default pool, freed by cudaFreeAsync without a later wait for the device. An object of a world. Throws
/// setup_failed.
class freed_pool_memory {
 public:
  explicit freed_pool_memory(int device) : pool_(device) {}
  /// Repeats this, because code that ran meanwhile may have waited for the device.
  void fill_and_free() {
    release();
    renewable_pressure filled(pool_, 0);
    rest_.emplace();  // before the memory is freed: afterwards cudaMalloc could take it from the pool
    filled.release();
  }
  void release() {
    rest_.reset();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    pool_.trim();
  }

 private:
  stream_ordered_memory pool_;
  std::optional<small_blocks> rest_;
};

/// A lasting fault that leaves no memory, or so little that what an operation loads matters.
fault_type without_memory(fault_type f) {
  f.cells = isolation::lasting;
  f.cold_apart = f.fills_device = true;
  f.memory = memory_class::exclusive;
  return f;
}

/// Makes operations ready, does `first`, then fills the device up to the level.
fault_type full_device(
    fault_type f, std::function<void()> first = [] {}) {
  f = without_memory(std::move(f));
  f.kind = "memory";
  f.levels = {0, 64};
  f.unit = "MiB free";
  f.provoke = [first = std::move(first)](world& w) {
    first();
    auto& held = w.keep<device_memory_pressure>(static_cast<std::uint64_t>(w.level()) << 20);
    w.undo_by([&held] { held.release(); });
    w.renew_by([&held] { held.renew(); });
  };
  return f;
}

/// Another process holds device memory, so that the level is left, until the cell or its remedy ends it. At level 0 this process, if it has
/// a context, takes the last small blocks.
void hold_memory_in_another_process(world& w, bool has_context = true) {
  auto& other = w.keep<other_process>(w.of_trial().device(), static_cast<std::uint64_t>(w.level()) << 20);
  small_blocks* const rest = has_context && w.level() == 0 ? &w.keep<small_blocks>() : nullptr;
  w.undo_by([&other, rest] {
    if (rest != nullptr) rest->release();
    other.release();
  });
  w.renew_by([&other, rest] {
    other.renew();
    if (rest != nullptr) rest->hold();
  });
}

void leak_handles(world& w) {
  auto& leaked = w.keep<std::vector<cublasHandle_t>>();
  const auto leak = [&leaked] {
    for (cublasHandle_t handle = nullptr; leaked.size() < 256;) {
      if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) break;
      leaked.push_back(handle);
    }
  };
  leak();
  w.of_trial().measure("handles leaked", static_cast<double>(leaked.size()), "handles");
  w.renew_by(leak);
  w.undo_by([&leaked] {
    for (cublasHandle_t each : leaked) cublasDestroy(each);
    leaked.clear();
  });
}

const register_faults here{
    // What fails   Whatever needs device memory: handles, workspaces, loading of code, allocations.
    // Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED; CUDA Programming Guide, lazy loading.
    full_device({.name = "full_device_eager",
                 .summary = "device memory is held by the program; code is loaded at once",
                 .environment = {{"CUDA_MODULE_LOADING", "EAGER"}}}),
    // What fails   The same.
    full_device({.name = "full_device_lazy",
                 .summary = "device memory is held by the program; code is loaded when it is needed",
                 .environment = {{"CUDA_MODULE_LOADING", "LAZY"}}}),
    // What fails   The same, except loading of code already loaded. In full_device_lazy no earlier product loaded code of cuBLAS.
    full_device({.name = "full_device_loaded",
                 .summary = "device memory is held by the program; code is loaded when it is needed, and a "
                            "product of another handle had loaded some",
                 .environment = {{"CUDA_MODULE_LOADING", "LAZY"}}},
                [] { CUFAULT_REQUIRE(product(new_handle())); }),
    // What fails   Whatever needs device memory, while the program's pool has all of it, freed in stream order without a wait.
    // Why          cudaFreeAsync returns memory to its pool. Nobody else gets it before a wait for the device; afterwards cudaMalloc takes
    //              it from the pool, whatever the pool may keep.
    // Documented   CUDA Runtime API, cudaMemPoolTrimTo.
    without_memory({.name = "full_pool",
                    .summary = "the program's memory pool has all device memory, freed and not waited for",
                    .kind = "pool",
                    .provoke =
                        [](world& w) {
                          auto& kept = w.keep<freed_pool_memory>(w.of_trial().device());
                          w.undo_by([&kept] { kept.release(); });
                          w.renew_by([&kept] { kept.fill_and_free(); });
                        }}),
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          Free memory lies in pieces between held blocks.
    // Documented   Nowhere for cudaMalloc, whose addresses are virtual. memory.fragmentation has the same for single calls.
    {.name = "fragmented_memory",
     .summary = "half of the memory is free, in pieces between blocks that are held",
     .kind = "memory",
     .cells = isolation::lasting,
     .memory = memory_class::exclusive,
     .provoke =
         [](world& w) {
           auto& held = w.keep<every_second_block>();
           w.undo_by([&held] { held.release(); });
           w.renew_by([&held] { held.hold(); });
         }},
    // What fails   Whatever needs device memory, while another process holds it: this process cannot release any.
    // Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED.
    without_memory({.name = "full_by_another_process",
                    .summary = "device memory is held by another process",
                    .kind = "memory",
                    .levels = {0, 64},
                    .unit = "MiB free",
                    .provoke = [](world& w) { hold_memory_in_another_process(w); }}),
    // What fails   The first call that makes a context, which takes device memory.
    // Documented   CUDA Runtime API, cudaErrorMemoryAllocation (2).
    {.name = "full_before_context",
     .summary = "another process held device memory before there was a context",
     .kind = "memory",
     .levels = {0, 256},
     .unit = "MiB free",
     .fills_device = true,
     .memory = memory_class::exclusive,
     .before_context = true,
     .provoke = [](world& w) { hold_memory_in_another_process(w, false); }},
    // What fails   Warm, while another client of the MPS server holds the device memory: cublasCreate (ALLOC_FAILED) and cudaMalloc; the
    //              other 9 operations that were tried work.
    // Documented   Multi-Process Service, provisioning: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT limits what a client can allocate.
    without_memory({.name = "mps_neighbour_full",
                    .summary = "device memory is held by another client of the MPS server",
                    .kind = "memory",
                    .levels = {0},
                    .unit = "MiB free",
                    .under_mps = true,
                    .takes_seconds = true,
                    .quick_operation = "kernel_launch",
                    .provoke =
                        [](world& w) {
                          require_mps(true);
                          hold_memory_in_another_process(w);
                        }}),
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          Each handle takes device memory, and host memory.
    // Documented   cuBLAS documentation, cublasCreate: it allocates.
    {.name = "leaked_handles",
     .summary = "the program leaked 256 handles",
     .kind = "handles",
     .cells = isolation::lasting,
     .memory = memory_class::exclusive,
     .provoke = leak_handles},
    // What fails   With cuBLAS 13.1.0 on an H200, eager loading: cublasCreate, though there is memory again. cuBLASLt works.
    // Why          Work that failed in a first attempt may never be repeated: the operation's handle is made afterwards.
    // Documented   Nowhere.
    {.name = "failed_create",
     .summary = "a cublasCreate failed for want of memory before, and now there is memory",
     .kind = "failed_create",
     .environment = {{"CUDA_MODULE_LOADING", "EAGER"}},
     .cells = isolation::lasting,
     .memory = memory_class::exclusive,
     .before_operation = true,
     .provoke = [](world&) {
       const device_memory_pressure full(0);
       cublasHandle_t handle = nullptr;
       if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
         throw not_provoked("cublasCreate succeeded on a full device");
     }}};

}  // namespace
}  // namespace cufault
