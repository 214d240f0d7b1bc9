// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, with little device memory free.
// Why          A handle takes a workspace, and the first one in a process also loads code: little with lazy module loading (the
//              default), all of cuBLAS and cuBLASLt with CUDA_MODULE_LOADING=EAGER.
// Documented   cuBLAS documentation, 2.2.2 cublasStatus_t: CUBLAS_STATUS_ALLOC_FAILED, resource allocation failed inside the
//              library. Users report INTERNAL_ERROR, NOT_INITIALIZED and ALLOC_FAILED: pytorch#128601, CUDA.jl#264, jax#7118.
// Measured     With lazy loading ALLOC_FAILED, which freed memory clears. With eager loading NOT_INITIALIZED, which nothing in that
//              process clears, or ALLOC_FAILED where the code fitted and the workspace did not. Before there is a context
//              NOT_INITIALIZED with either, which freed memory clears. Never INTERNAL_ERROR.
// What helps   Recommended everywhere: free memory and try again; smaller buffers. The arms are those that cells of full_device_lazy,
//              full_device_eager, full_by_another_process and full_pool do not have: levels with their edges, what can be found out
//              after the failure, less precision. The cells have the other remedies. Said not to help, and not measured yet:
//              CUDA installed again; no arm installs anything.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <string>

namespace cufault {
namespace {

/// For fault arms: the work and, after a failure, what a caller can find out about the memory.
void fail_and_look(trial& t) {
  if (create_and_multiply() == CUBLAS_STATUS_SUCCESS) return;
  std::size_t free = 0, total = 0;
  const cudaError_t left_before = cudaPeekAtLastError();
  const cudaError_t asked = cudaMemGetInfo(&free, &total);
  t.note("cudaMemGetInfo after the failure", cudaGetErrorName(asked));
  if (asked == cudaSuccess) {
    t.measure("device memory free after the failure", static_cast<double>(free), "bytes");
    t.measure("device memory in all", static_cast<double>(total), "bytes");
  } else if (left_before == cudaSuccess) {
    cudaGetLastError();  // clears the error of this query
  }
}

void measure_pressure(trial& t, const memory_pressure& held) {
  t.measure("free when squeezed", static_cast<double>(held.free_bytes()), "bytes");
  t.measure("squeeze took", held.milliseconds(), "ms");
  t.sample("squeezed");
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  device_memory& device = current_device_memory();
  const std::uint64_t at_first = device.free_bytes();
  cublasHandle_t handle = nullptr, further = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
  const std::uint64_t after_one = device.free_bytes();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  const std::uint64_t after_product = device.free_bytes();
  CUFAULT_REQUIRE(cublasCreate(&further));
  const std::uint64_t after_two = device.free_bytes();
  t.measure("device memory taken by the first cublasCreate",
            static_cast<double>(at_first) - static_cast<double>(after_one), "bytes");
  t.measure("device memory taken by the first product",
            static_cast<double>(after_one) - static_cast<double>(after_product), "bytes");
  t.measure("device memory taken by a further cublasCreate",
            static_cast<double>(after_product) - static_cast<double>(after_two), "bytes");
  CUFAULT_REQUIRE(cublasDestroy(further));
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- faults ----

void held_by_this_process(trial& t) {
  t.open_context();
  const memory_pressure held(static_cast<std::uint64_t>(t.level()) << 20);
  measure_pressure(t, held);
  fail_and_look(t);
  t.sample("after cublasCreate");
}

void held_before_the_context(trial& t) {
  const other_process other(t.device(), static_cast<std::uint64_t>(t.level()) << 20);
  t.measure("free before the context", static_cast<double>(other.free_bytes()), "bytes");
  fail_and_look(t);
}

void kept_by_the_pool(trial& t) {
  t.open_context();
  stream_ordered_memory pool(t.device());
  { const memory_pressure in_the_pool(pool, 0); }
  t.sample("freed to the pool");
  fail_and_look(t);
}

// ---- remedies ----

void release_and_retry(trial& t) {
  t.open_context();
  memory_pressure held(static_cast<std::uint64_t>(t.level()) << 20);
  measure_pressure(t, held);
  create_and_multiply();
  t.apply("free all memory, create again");
  held.release();
  t.sample("released");
  create_and_multiply();
}

void end_other_process_and_retry(trial& t) {
  t.open_context();
  {
    const other_process other(t.device(), static_cast<std::uint64_t>(t.level()) << 20);
    t.sample("squeezed by the other process");
    create_and_multiply();
    t.apply("wait until the other process has given its memory back, create again");
  }
  create_and_multiply();
}

void release_before_the_context_and_retry(trial& t) {
  {
    const other_process other(t.device(), 0);
    t.measure("free before the context", static_cast<double>(other.free_bytes()), "bytes");
    create_and_multiply();
    t.apply("wait until the other process has given its memory back, create again");
  }
  create_and_multiply();
}

void create_before_filling(trial& t) {
  t.open_context();
  t.apply("create the handle before the device is filled");
  const cublasHandle_t handle = observed_handle();
  {
    const memory_pressure held(0);
    measure_pressure(t, held);
    CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  }
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

void smaller_buffers(trial& t) {
  t.open_context();
  t.apply("buffers of half the device");
  const memory_pressure held(current_device_memory().free_bytes() / 2);
  measure_pressure(t, held);
  create_and_multiply();
}

void halve_buffers_and_retry(trial& t) {
  t.open_context();
  memory_pressure held(16_MiB, 2);
  measure_pressure(t, held);
  create_and_multiply();
  t.apply("free half of the buffers, create again");
  held.release_half();
  t.sample("half released");
  create_and_multiply();
}

/// The same number of elements in half instead of single precision: frees 512 MiB.
void half_precision_and_retry(trial& t) {
  t.open_context();
  constexpr std::size_t elements = 1_GiB / sizeof(float);
  void* buffer = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&buffer, elements * sizeof(float)));
  const memory_pressure held(16_MiB);
  measure_pressure(t, held);
  create_and_multiply();
  t.apply("a buffer of 1 GiB in single precision as one of half precision, create again");
  CUFAULT_REQUIRE(cudaFree(buffer));
  CUFAULT_REQUIRE(cudaMalloc(&buffer, elements * sizeof(std::uint16_t)));
  t.sample("halved");
  create_and_multiply();
}

void new_process(trial& t) {
  if (t.stage() == 0) {
    t.open_context();
    {
      const memory_pressure held(16_MiB);
      measure_pressure(t, held);
      create_and_multiply();
    }
    t.apply("free all memory, go on in a new process");
    t.continue_in_new_process();
    return;
  }
  t.open_context();
  create_and_multiply();
}

void load_lazily_instead(trial& t) {
  t.open_context();
  {
    const memory_pressure held(128_MiB);
    measure_pressure(t, held);
    if (t.stage() > 0) {
      create_and_multiply();
      return;
    }
    create_and_multiply();
  }
  t.apply("go on in a new process with CUDA_MODULE_LOADING=LAZY, with as little memory free");
  t.continue_in_new_process({{"CUDA_MODULE_LOADING", "LAZY"}});
}

// ---- dead ends ----

void device_reset_with_own_memory(trial& t) {
  t.open_context();
  memory_pressure held(16_MiB);
  measure_pressure(t, held);
  create_and_multiply();
  t.apply("cudaDeviceReset(), which destroys this process's allocations, create again");
  held.forget();
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

cublasStatus_t create_ten_times() {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (int i = 0; i < 10; ++i) {
    cublasHandle_t handle = nullptr;
    status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) return cublasDestroy(handle);
  }
  return status;
}

void retry_many_times_after_release(trial& t) {
  t.open_context();
  memory_pressure held(16_MiB);
  measure_pressure(t, held);
  create_and_multiply();
  t.apply("free all memory, create up to ten times");
  held.release();
  CUFAULT_OBSERVE_AS("cublasCreate", "ten_times", create_ten_times());
  create_and_multiply();
}

// ---- the case ----

void create_under_pressure(failure_case& c) {
  // Levels are requested values: samples have what was really free, up to a granule or two more.
  const char* const asked = "MiB asked to stay free";
  const level_range fine{asked, {0, 2, 8, 16, 32, 48, 64, 96, 128}, 2};
  const level_range wide{asked, {0, 64, 128, 256, 432, 496, 1024}, 8};
  const level_range before_context{asked, {0, 256, 512, 2048}, 0};
  const level_range failing_lazy{asked, {0, 16, 48}, 0};
  // At 432 the code fits and the workspace does not, with cuBLAS 13.1.0 on compute capability 9.0.
  const level_range failing_eager{asked, {0, 48, 432}, 0};

  for (const bool eager : {false, true}) {
    const std::string mode = eager ? "eager" : "lazy";
    const auto add = [&](const std::string& name, arm_kind kind, const std::string& summary,
                         void (*body)(trial&), std::vector<std::string> claims = {},
                         std::optional<level_range> levels = {}) -> arm& {
      arm& a =
          c.add(name + "_" + mode, kind, summary + ", " + mode + " module loading", body, std::move(claims));
      if (eager) a.environment["CUDA_MODULE_LOADING"] = "EAGER";
      a.levels = std::move(levels);
      return a;
    };
    add("control", arm_kind::control, "create with the device empty", control, {"S0-6"});

    add("held_here", arm_kind::fault, "this process holds the memory", held_by_this_process, {"S0-5", "S0-7"},
        eager ? wide : fine);
    add("held_before_context", arm_kind::fault, "another process holds it before this one has a context",
        held_before_the_context, {"S0-5", "S0-7"}, before_context);
    add("kept_by_pool", arm_kind::fault, "freed, but kept by this process's pool", kept_by_the_pool,
        {"S0-5", "S0-7"});

    for (const char* held : {"held_here_", "held_before_context_", "kept_by_pool_"})
      add_counterpart(c, held + mode);

    add("release_and_retry", arm_kind::remedy, "free the memory, create again", release_and_retry, {"S0-14"},
        eager ? failing_eager : failing_lazy);
    add("release_before_context_and_retry", arm_kind::remedy,
        "the other process that was there before the context leaves, create again",
        release_before_the_context_and_retry);
    add("create_first", arm_kind::remedy, "create the handle before filling the device",
        create_before_filling)
        .against = "held_here_" + mode;
    add("smaller_buffers", arm_kind::remedy, "fill only half of the device", smaller_buffers, {"S0-9"})
        .against = "held_here_" + mode;
    add("halve_and_retry", arm_kind::remedy, "free half of the buffers after the failure, create again",
        halve_buffers_and_retry, {"S0-9", "S2-7"});
    add("half_precision", arm_kind::remedy,
        "FP16 in place of FP32 in a buffer of 1 GiB after the failure, create again",
        half_precision_and_retry, {"S0-9"});
    if (!eager) {  // doctor names this arm
      add("end_other_process_and_retry", arm_kind::remedy, "the other process leaves, create again",
          end_other_process_and_retry, {}, level_range{asked, {0, 32}, 0});
      continue;
    }
    add("new_process", arm_kind::remedy, "free the memory, go on in a new process", new_process);
    add("reset_own", arm_kind::dead_end, "cudaDeviceReset while this process holds the memory",
        device_reset_with_own_memory);
    add("load_lazily", arm_kind::remedy,
        "go on in a new process with CUDA_MODULE_LOADING=LAZY, as little free", load_lazily_instead);
    add("retry_ten_times", arm_kind::dead_end, "free the memory, create ten times",
        retry_many_times_after_release);
  }
  // Only the full tier runs held_here_lazy, which searches for the edge in a dozen processes.
  c.in_tier = {"control_lazy", "kept_by_pool_lazy", "release_and_retry_lazy"};
}

const register_case here(
    "memory.create_under_pressure",
    "cublasCreate with little device memory free, held by this process, its pool, or another process "
    "before the context exists",
    {"F-MEM-01", "F-MEM-03"}, create_under_pressure);

}  // namespace
}  // namespace cufault
