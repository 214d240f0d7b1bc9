// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Work with cuBLASLt when device memory is short: cublasLtCreate where code is loaded eagerly, and the caller's
//              allocation of a workspace. Whether cublasLtMatmulAlgoGetHeuristic itself fails is what the arms find out, with the
//              device full, with the host's memory used up, and with single host allocations of cuBLASLt failing.
// Why          Code is loaded into device memory at its first use or all at once, and with cuBLASLt the workspace is the
//              caller's: the heuristic only says how much of what was allowed an algorithm wants.
// Documented   One source document says that the heuristic returns ALLOC_FAILED when device memory is short (S2-1), since the
//              search needs some (S2-2) or a workspace is large (S2-4); that smaller batches clear it (S2-7) and larger do not (S2-11),
//              of which nothing can be said where it does not fail. cuBLAS documentation, cublasLtMatmulAlgoGetHeuristic:
//              INVALID_VALUE, NOT_SUPPORTED and SUCCESS, and a state for each result. First products near the end of memory:
//              DeepSpeed#294, gpu4pyscf#124.
// What helps   Recommended: smaller batches; CUBLASLT_HEURISTIC_MODE=1. Said not to help: larger batches, CUBLAS_WORKSPACE_CONFIG.
//              Tried besides: allowing no workspace, and creating and asking again once the memory is there.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: the heuristic never fails for want of device memory; one host allocation that
//              fails in the first query of a process mostly aborts it. With eager loading and 65 MiB free or less, cublasLtCreate
//              returns NOT_INITIALIZED, and does so again with all memory freed. Smaller batches and allowing no workspace clear the
//              caller's allocation, CUBLASLT_HEURISTIC_MODE does not.
#include "harness/injection/counterparts.hpp"
#include "harness/injection/host_faults.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/kit/host_limit.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr std::uint64_t pressed = 16_MiB;        // requested to stay free: room for code, not for a workspace
constexpr std::size_t usual_workspace = 32_MiB;  // what frameworks allow and allocate on recent devices
constexpr product_extents deep{512, 520, 1 << 16};  // few tiles, long sums: cuBLASLt splits k

double taken_since(std::size_t free_before) {
  return static_cast<double>(free_before) - static_cast<double>(free_device_memory());
}

cublasStatus_t query(cublasLtHandle_t lt, lt_problem& problem, std::size_t workspace_bytes = 0) {
  return CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", problem.heuristic(lt, workspace_bytes));
}

/// Asks about `count` new problems, which no cache can answer. Returns the first failing status.
cublasStatus_t query_different(cublasLtHandle_t lt, int first_m, int count, int* succeeded) {
  cublasStatus_t first_failing = CUBLAS_STATUS_SUCCESS;
  for (int i = 0; i < count; ++i) {
    lt_problem problem({first_m + i, product_shape::n, product_shape::k});
    const cublasStatus_t status = problem.heuristic(lt, usual_workspace);
    if (status == CUBLAS_STATUS_SUCCESS) {
      ++*succeeded;
    } else if (first_failing == CUBLAS_STATUS_SUCCESS) {
      first_failing = status;
    }
  }
  return first_failing;
}

/// Number of failures to load code that cuBLASLt logged.
std::atomic<int>& load_failures() {
  static std::atomic<int> count{0};
  return count;
}

void count_load_failures(trial& t) {
  t.on_library_log([](int, std::string_view message) {
    if (message.find("cuLibrary") != std::string_view::npos) ++load_failures();
  });
}

/// The first query of a process, and its cost.
cublasStatus_t first_query(trial& t, cublasLtHandle_t lt, lt_problem& problem, std::size_t workspace_bytes) {
  count_load_failures(t);
  const std::size_t free = free_device_memory();
  const cublasStatus_t asked = query(lt, problem, workspace_bytes);
  const double taken = taken_since(free);
  t.sample("asked");
  t.measure("device memory taken by the query", taken, "bytes");
  t.measure("algorithms found", static_cast<double>(problem.results().size()));
  t.measure("failures to load code that cuBLASLt logged in the query", load_failures());
  return asked;
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  const cublasLtHandle_t lt = observed_lt_handle();

  constexpr int further = 999;
  int succeeded = 0;
  lt_problem problem;
  const std::size_t at_first = free_device_memory();
  query(lt, problem);
  const double by_the_first = taken_since(at_first);
  const std::size_t after_one = free_device_memory();
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "different_problems",
                     query_different(lt, 1, further, &succeeded));
  const double by_the_others = taken_since(after_one);
  t.measure("device memory taken by the first query", by_the_first, "bytes");
  t.measure("device memory taken by 999 further queries", by_the_others, "bytes");

  const std::size_t before_product = free_device_memory();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  t.measure("device memory taken by the first product", taken_since(before_product), "bytes");
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- faults: device memory ----

void first_query_under_pressure(trial& t, const product_extents& extents) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  {
    const memory_pressure held(static_cast<std::uint64_t>(t.level()) << 20);
    t.sample("squeezed");
    lt_problem problem(extents);
    first_query(t, lt, problem, usual_workspace);
  }
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

void first_query_small(trial& t) {
  first_query_under_pressure(t, {product_shape::m, product_shape::n, product_shape::k});
}

void first_query_deep(trial& t) {
  first_query_under_pressure(t, deep);
}

void later_queries_on_a_full_device(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  lt_problem known, unknown(deep);
  CUFAULT_REQUIRE(known.heuristic(lt));
  {
    const memory_pressure held(0);
    t.sample("squeezed");
    query(lt, known);
    query(lt, unknown, usual_workspace);
    t.sample("asked");
  }
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

void create_query_multiply() {
  cublasLtHandle_t lt = nullptr;
  if (CUFAULT_OBSERVE(cublasLtCreate(&lt)) != CUBLAS_STATUS_SUCCESS) return;
  lt_problem problem;
  query(lt, problem);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

void everything_on_a_full_device(trial& t) {
  t.open_context();
  const memory_pressure held(static_cast<std::uint64_t>(t.level()) << 20);
  t.sample("squeezed");
  create_query_multiply();
}

/// If the query succeeds without a workspace, the workspace caused its failure.
void ask_without_workspace(cublasLtHandle_t lt, lt_problem& problem, cublasStatus_t asked) {
  if (asked != CUBLAS_STATUS_SUCCESS) query(lt, problem);
}

/// Measures how much workspace an algorithm may want, who allocates it, and what then fails.
void workspace_allowed(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  lt_problem problem(deep);
  const memory_pressure held(pressed);
  t.sample("squeezed");
  const cublasStatus_t asked = first_query(t, lt, problem, static_cast<std::size_t>(t.level()) << 20);
  const std::size_t wanted = problem.results().empty() ? 0 : problem.results().front().workspaceSize;
  t.measure("workspace that the first algorithm wants", static_cast<double>(wanted), "bytes");
  void* workspace = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&workspace, wanted));
  cudaGetLastError();
  if (t.level() > 0) ask_without_workspace(lt, problem, asked);
}

cudaError_t allocate_often(std::size_t bytes, int count, int* succeeded) {
  cudaError_t first_failing = cudaSuccess;
  for (int i = 0; i < count; ++i) {
    void* p = nullptr;
    const cudaError_t status = cudaMalloc(&p, bytes);
    if (status == cudaSuccess) {
      ++*succeeded;
      CUFAULT_REQUIRE(cudaFree(p));
    } else if (first_failing == cudaSuccess) {
      first_failing = status;
      cudaGetLastError();
    }
  }
  return first_failing;
}

/// Measures how many of fifty attempts of each step succeed.
void rates(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  constexpr int times = 50;
  struct {
    int queries = 0, allocations = 0;
  } full, released;
  memory_pressure held(pressed);
  t.sample("squeezed");
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "different_problems",
                     query_different(lt, 1, times, &full.queries));
  CUFAULT_OBSERVE_AS("cudaMalloc", "often", allocate_often(usual_workspace, times, &full.allocations));
  held.release();
  t.sample("released");
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "different_problems",
                     query_different(lt, 1 + times, times, &released.queries));
  CUFAULT_OBSERVE_AS("cudaMalloc", "often", allocate_often(usual_workspace, times, &released.allocations));
  t.measure("queries answered, squeezed", full.queries);
  t.measure("workspaces allocated, squeezed", full.allocations);
  t.measure("queries answered, released", released.queries);
  t.measure("workspaces allocated, released", released.allocations);
}

/// Works like a framework: asks with its allowed workspace, allocates it, multiplies. Returns the status of the query.
cublasStatus_t work_with_workspace(cublasLtHandle_t lt, std::size_t allowed = usual_workspace) {
  lt_problem problem;
  trial::current().sample("before the query");
  const cublasStatus_t asked = query(lt, problem, allowed);
  void* workspace = nullptr;
  if (CUFAULT_OBSERVE(cudaMalloc(&workspace, allowed)) == cudaSuccess) {
    CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm_with_workspace",
                       lt_product(lt, workspace, allowed));
    CUFAULT_REQUIRE(cudaFree(workspace));
  } else {
    cudaGetLastError();
  }
  return asked;
}

/// A handle that has multiplied before, so that later failures do not come from loading code.
cublasLtHandle_t used_handle(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  CUFAULT_REQUIRE(lt_product(lt));
  return lt;
}

void no_room_for_the_workspace(trial& t) {
  const cublasLtHandle_t lt = used_handle(t);
  const memory_pressure held(pressed);
  const cublasStatus_t asked = work_with_workspace(lt);
  lt_problem problem;
  ask_without_workspace(lt, problem, asked);
}

// ---- faults: host memory ----

/// While an object lives, this process gets at most `bytes_left` more host memory. It limits the address space (at its start a CUDA process
/// uses too much to limit it) and uses up malloc's free blocks.
class starved_host {
 public:
  explicit starved_host(std::uint64_t bytes_left) {
    // malloc keeps small free blocks by size, in steps of 16.
    for (std::size_t size = 1_MiB; size >= sizeof(void*); size = size > 2_KiB ? size / 2 : size - 16) {
      while (void* p = std::malloc(size)) {
        *static_cast<void**>(p) = stock_;
        stock_ = p;
      }
    }
    limit_.lower(now_ + bytes_left);
  }
  ~starved_host() {
    limit_.lift();
    while (stock_ != nullptr) {
      void* next = *static_cast<void**>(stock_);
      std::free(stock_);
      stock_ = next;
    }
  }
  starved_host(const starved_host&) = delete;
  starved_host& operator=(const starved_host&) = delete;

 private:
  const rlim_t now_ = mapped_now().all;
  lowered_limit limit_{RLIMIT_AS, now_};
  void* stock_ = nullptr;  // linked list of blocks
};

/// Limits host memory during the query alone: reporting also needs memory.
cublasStatus_t query_on_a_starved_host(cublasLtHandle_t lt, lt_problem& problem, std::uint64_t bytes_left) {
  const auto starved_query = [&] {
    const starved_host starved(bytes_left);
    return problem.heuristic(lt);
  };
  return CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", starved_query());
}

/// Makes the n-th host allocation of cuBLASLt fail.
void query_without_allocation(trial& t, cublasLtHandle_t lt, lt_problem& problem, unsigned long n) {
  host_faults::fail_allocation("libcublasLt", n);
  query(lt, problem);
  t.measure("host allocations of cuBLASLt in the query",
            static_cast<double>(host_faults::allocations_counted()));
}

/// The same query and a product, with memory available again.
void query_and_multiply(cublasLtHandle_t lt, lt_problem& problem) {
  query(lt, problem);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

void host_memory_used_up(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  lt_problem problem;
  query_on_a_starved_host(lt, problem, static_cast<std::uint64_t>(t.level()) << 10);
  query_and_multiply(lt, problem);
}

void host_allocation_fails(trial& t, bool warm) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  lt_problem problem;
  if (warm) CUFAULT_REQUIRE(problem.heuristic(lt));
  query_without_allocation(t, lt, problem, static_cast<unsigned long>(t.level()));
  query_and_multiply(lt, problem);
}

// ---- remedies ----

void release_and_retry(trial& t) {
  t.open_context();
  memory_pressure held(0);
  t.sample("squeezed");
  create_query_multiply();
  t.apply("free all memory, create, ask and multiply again");
  held.release();
  create_query_multiply();
}

void allow_no_workspace(trial& t) {
  const cublasLtHandle_t lt = used_handle(t);
  const memory_pressure held(pressed);
  work_with_workspace(lt);
  t.apply("ask for algorithms that need no workspace");
  work_with_workspace(lt, 0);
}

void halve_the_buffers(trial& t) {
  const cublasLtHandle_t lt = used_handle(t);
  memory_pressure held(pressed, 2);
  work_with_workspace(lt);
  t.apply("free half of the buffers, as a smaller batch or checkpointing would");
  held.release_half();
  work_with_workspace(lt);
}

void heuristic_mode(trial& t) {
  const cublasLtHandle_t lt = used_handle(t);
  memory_pressure held(pressed);
  work_with_workspace(lt);
  if (t.stage() > 0) return;
  held.release();
  t.apply("the same in a new process with CUBLASLT_HEURISTIC_MODE=1");
  t.continue_in_new_process({{"CUBLASLT_HEURISTIC_MODE", "1"}});
}

// ---- dead ends ----

void larger_buffers(trial& t) {
  const cublasLtHandle_t lt = used_handle(t);
  device_memory& device = current_device_memory();
  const memory_pressure held(device, pressed);
  work_with_workspace(lt);
  t.apply("larger buffers: they take all that was left");
  const memory_pressure held_too(device, 0);
  work_with_workspace(lt);
}

/// One value of CUBLAS_WORKSPACE_CONFIG in its own process: the memory of its first cublasCreate on an empty device, and the result of a
/// query and of the caller's workspace under pressure.
void try_setting(trial& t, const std::string& setting) {
  const cublasLtHandle_t lt = used_handle(t);
  const std::size_t before = free_device_memory();
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
    t.measure("device memory taken by the first cublasCreate, " + setting, taken_since(before), "bytes");
  const memory_pressure held(pressed);
  work_with_workspace(lt);
}

void workspace_settings(trial& t) {
  // :4096:64 is 256 MiB, the only one that should take more than the default.
  static constexpr std::array settings{"unset", ":0:0", ":16:8", ":4096:8", ":4096:64", "malformed"};
  const auto stage = static_cast<std::size_t>(t.stage());
  try_setting(t, settings.at(stage));
  if (stage == 0)
    t.apply("the same in new processes with :0:0, :16:8, :4096:8, :4096:64 and a malformed value");
  if (stage + 1 < settings.size())
    t.continue_in_new_process({{"CUBLAS_WORKSPACE_CONFIG", settings.at(stage + 1)}});
}

// ---- the case ----

void under_pressure(failure_case& c) {
  const level_range device_left{"MiB asked to stay free", {0, 2, 64}};
  for (const bool eager : {false, true}) {
    const auto add_mode = [&](const std::string& name, arm_kind kind, const std::string& summary,
                              void (*body)(trial&), std::vector<std::string> claims = {},
                              std::optional<level_range> levels = {}) {
      const std::string mode = eager ? "eager" : "lazy";
      arm& a =
          c.add(name + "_" + mode, kind, summary + ", " + mode + " module loading", body, std::move(claims));
      a.levels = std::move(levels);
      if (eager) a.environment["CUDA_MODULE_LOADING"] = "EAGER";
    };
    add_mode("control", arm_kind::control, "a thousand queries and a product with the device empty", control,
             {"S2-2"});
    add_mode("first_query", arm_kind::fault,
             "the first query of the process with little device memory free, with a handle from before",
             first_query_small, {"S2-1", "S2-2"}, device_left);
    add_mode("first_query_deep", arm_kind::fault, "the same for a problem whose algorithms want a workspace",
             first_query_deep, {"S2-1", "S2-2"}, device_left);
    add_mode("later_queries", arm_kind::fault,
             "a query that was made before and another problem's, on a full device",
             later_queries_on_a_full_device, {"S2-1"});
    add_mode("everything", arm_kind::fault, "handle, query and product with little device memory free",
             everything_on_a_full_device, {}, device_left);
    for (const char* squeezed : {"first_query_", "first_query_deep_", "later_queries_", "everything_"})
      add_counterpart(c, squeezed + std::string(eager ? "eager" : "lazy"));
    if (eager)  // something fails only then
      add_mode("release_and_retry", arm_kind::remedy, "free the memory, create, ask and multiply again",
               release_and_retry);
  }

  c.fault("workspace_allowed",
          "more and more workspace allowed on a device squeezed to 16 MiB, and its allocation",
          workspace_allowed, {"S2-2", "S2-4"})
      .levels = level_range{"MiB of workspace allowed", {0, 1, 32, 1024, 512 * 1024}};
  c.fault("no_room_for_workspace", "the caller's workspace of 32 MiB on a device squeezed to 16 MiB",
          no_room_for_the_workspace, {"S2-4"});
  c.fault("rates", "fifty queries and fifty workspace allocations, under pressure and without", rates,
          {"S2-14"});
  c.remedy("no_workspace", "allow no workspace", allow_no_workspace);
  c.remedy("halve_buffers", "free half of the buffers, for the caller's workspace", halve_the_buffers,
           {"S2-7"});
  c.remedy("heuristic_mode", "CUBLASLT_HEURISTIC_MODE=1", heuristic_mode)
      .environment["CUBLASLT_HEURISTIC_MODE"] = "";
  c.dead_end("larger_buffers", "buffers that take the rest of the device", larger_buffers, {"S2-11"});
  c.dead_end("workspace_settings", "every form of CUBLAS_WORKSPACE_CONFIG", workspace_settings, {"S2-12"});

  for (const char* squeezed : {"workspace_allowed", "no_room_for_workspace", "rates"})
    add_counterpart(c, squeezed);

  // A query that loses a host allocation may never return.
  const auto add_host = [&](const std::string& name, arm_kind kind, const std::string& summary,
                            std::function<void(trial&)> body, const level_range& levels) -> arm& {
    arm& a = c.add(name, kind, summary, std::move(body));
    a.levels = levels;
    a.timeout = std::chrono::seconds(10);
    return a;
  };
  add_host("host_memory", arm_kind::fault, "the host's memory is used up at the first query",
           host_memory_used_up, level_range{"KiB of host memory left", {0, 256, 4096}});
  under_host_injector(add_host(
      "allocation_first_query", arm_kind::fault, "one host allocation of cuBLASLt fails in the first query",
      [](trial& t) { host_allocation_fails(t, false); },
      level_range{"th host allocation", {1, 2, 3, 5, 10, 20, 50, 100, 1000}}));
  c.arms.back().made_up = true;  // no natural arm loses a single allocation
  under_host_injector(add_host(
      "allocation_same_query", arm_kind::fault,
      "one host allocation of cuBLASLt fails in the same query again",
      [](trial& t) { host_allocation_fails(t, true); }, level_range{"th host allocation", {1, 2, 5}}));
  c.arms.back().made_up = true;
  c.run_beside_others({"host_memory", "allocation_first_query", "allocation_same_query"});
  c.in_tier = {"control_lazy", "first_query_lazy", "no_room_for_workspace"};
}

const register_case here(
    "heuristic.under_pressure",
    "cublasLtMatmulAlgoGetHeuristic, and what comes after it, with device or host memory used up",
    {"F-MEM-02"}, under_pressure);

}  // namespace
}  // namespace cufault
