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
#include "harness/host_faults.hpp"
#include "harness/lt_problem.hpp"
#include "harness/preloaded.hpp"
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"
#include "harness/twins.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr std::uint64_t pressed = 16_MiB;        // asked to stay free: room for code, not for a workspace
constexpr std::size_t usual_workspace = 32_MiB;  // what frameworks allow and allocate on recent devices
constexpr product_extents deep{
    512, 520, 1 << 16};  // few tiles, much to sum up: worth splitting, which takes a workspace

double taken_since(std::size_t free_before) {
  return static_cast<double>(free_before) - static_cast<double>(free_device_memory());
}

std::string mib(double bytes) {
  return fmt::format("{:.1f} MiB", bytes / static_cast<double>(1_MiB));
}

std::string mib(std::size_t bytes) {
  return mib(static_cast<double>(bytes));
}

std::string name_of(const auto& status) {
  return record_of(status).name;
}

/// Every query is observed under the name that the claims give it.
constexpr const char* query_text = "cublasLtMatmulAlgoGetHeuristic(light, ...)";

cublasStatus_t query(cublasLtHandle_t light, lt_problem& problem, std::size_t workspace_bytes = 0) {
  return observe_call(query_text, [&] { return problem.heuristic(light, workspace_bytes); });
}

/// As many problems that nobody has asked for yet: none is answered from the cache. Returns the first failing
/// status.
cublasStatus_t query_different(cublasLtHandle_t light, int first_m, int count, int* succeeded) {
  cublasStatus_t first_failing = CUBLAS_STATUS_SUCCESS;
  for (int i = 0; i < count; ++i) {
    lt_problem problem({first_m + i, product_shape::n, product_shape::k});
    const cublasStatus_t status = problem.heuristic(light, usual_workspace);
    if (status == CUBLAS_STATUS_SUCCESS) {
      ++*succeeded;
    } else if (first_failing == CUBLAS_STATUS_SUCCESS) {
      first_failing = status;
    }
  }
  return first_failing;
}

/// How often cuBLASLt has logged that it could not load code.
std::atomic<int>& load_failures() {
  static std::atomic<int> count{0};
  return count;
}

void count_load_failures(trial& t) {
  t.hear_library_log([](int, std::string_view message) {
    if (message.find("cuLibrary") != std::string_view::npos) ++load_failures();
  });
}

/// The first query of a process, and what it took: S2-2.
cublasStatus_t first_query(trial& t, cublasLtHandle_t light, lt_problem& problem,
                           std::size_t workspace_bytes) {
  count_load_failures(t);
  const std::size_t free = free_device_memory();
  const cublasStatus_t asked = query(light, problem, workspace_bytes);
  const double taken = taken_since(free);
  t.sample("asked");
  t.measure("device memory taken by the query", taken, "bytes");
  t.measure("algorithms found", static_cast<double>(problem.results().size()));
  t.measure("failures to load code that cuBLASLt logged in the query", load_failures());
  t.conclude(
      "S2-2", taken > 0 || asked != CUBLAS_STATUS_SUCCESS,
      fmt::format(
          "with {} free the first query of a process takes {} of device memory and returns {}; cuBLASLt logs "
          "{} failures to load code in it",
          mib(free), mib(taken), name_of(asked), load_failures().load()));
  return asked;
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  cublasLtHandle_t light = nullptr;
  observe(cublasLtCreate(&light));

  constexpr int further = 999;
  int succeeded = 0;
  lt_problem problem;
  const std::size_t at_first = free_device_memory();
  query(light, problem);
  const double by_the_first = taken_since(at_first);
  const std::size_t after_one = free_device_memory();
  observe(query_different(light, 1, further, &succeeded));
  const double by_the_others = taken_since(after_one);
  t.measure("device memory taken by the first query", by_the_first, "bytes");
  t.measure("device memory taken by 999 further queries", by_the_others, "bytes");
  t.conclude(
      "S2-2", by_the_first > 0 || by_the_others > 0,
      fmt::format("with {} free the first query of a process takes {} of device memory, {} further ones "
                  "for other problems take {} together",
                  mib(at_first), mib(by_the_first), further, mib(by_the_others)));

  const std::size_t before_product = free_device_memory();
  observe(lt_product(light));
  t.measure("device memory taken by the first product", taken_since(before_product), "bytes");
  observe(cublasLtDestroy(light));
}

// ---- faults: device memory ----

void first_query_under_pressure(trial& t, const product_extents& extents) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  {
    const auto device = current_device_memory();
    const squeeze held(*device, static_cast<std::uint64_t>(t.rung()) << 20);
    t.sample("squeezed");
    lt_problem problem(extents);
    first_query(t, light, problem, usual_workspace);
  }
  observe(lt_product(light));
}

void first_query_small(trial& t) {
  first_query_under_pressure(t, {product_shape::m, product_shape::n, product_shape::k});
}

void first_query_deep(trial& t) {
  first_query_under_pressure(t, deep);
}

void later_queries_on_a_full_device(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  lt_problem known, unknown(deep);
  require(known.heuristic(light));
  {
    const auto device = current_device_memory();
    const squeeze held(*device, 0);
    t.sample("squeezed");
    query(light, known);
    query(light, unknown, usual_workspace);
    t.sample("asked");
  }
  observe(lt_product(light));
}

void create_query_multiply() {
  cublasLtHandle_t light = nullptr;
  if (observe(cublasLtCreate(&light)) != CUBLAS_STATUS_SUCCESS) return;
  lt_problem problem;
  query(light, problem);
  observe(lt_product(light));
}

void everything_on_a_full_device(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, static_cast<std::uint64_t>(t.rung()) << 20);
  t.sample("squeezed");
  create_query_multiply();
}

/// S2-4 is about why the query fails. Where it does, the workspace is the cause if with none allowed it succeeds. What becomes of the
/// caller's cudaMalloc is told, and is no answer of the heuristic's.
void conclude_cause(trial& t, cublasLtHandle_t light, lt_problem& problem, cublasStatus_t asked,
                    const std::string& words) {
  if (asked == CUBLAS_STATUS_SUCCESS) return t.conclude("S2-4", false, words);
  const cublasStatus_t without = query(light, problem);
  t.conclude("S2-4", without == CUBLAS_STATUS_SUCCESS,
             fmt::format("{}; the query with no workspace allowed: {}", words, name_of(without)));
}

/// How much workspace may an algorithm want, who allocates it, and what fails then?
void workspace_allowed(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  lt_problem problem(deep);
  const auto device = current_device_memory();
  const squeeze held(*device, pressed);
  t.sample("squeezed");
  const cublasStatus_t asked = first_query(t, light, problem, static_cast<std::size_t>(t.rung()) << 20);
  const std::size_t free = free_device_memory();
  const std::size_t wanted = problem.results().empty() ? 0 : problem.results().front().workspaceSize;
  t.measure("workspace that the first algorithm wants", static_cast<double>(wanted), "bytes");
  void* workspace = nullptr;
  const cudaError_t allocated = observe(cudaMalloc(&workspace, wanted));
  cudaGetLastError();
  if (t.rung() == 0) return;  // that is no requirement
  conclude_cause(t, light, problem, asked,
                 fmt::format("of {} MiB of workspace allowed the first algorithm wants {} bytes; the query: "
                             "{}, the caller's cudaMalloc of what it wants with {} free: {}",
                             t.rung(), wanted, name_of(asked), mib(free), name_of(allocated)));
}

cudaError_t allocate_often(std::size_t bytes, int count, int* succeeded) {
  cudaError_t first_failing = cudaSuccess;
  for (int i = 0; i < count; ++i) {
    void* p = nullptr;
    const cudaError_t status = cudaMalloc(&p, bytes);
    if (status == cudaSuccess) {
      ++*succeeded;
      require(cudaFree(p));
    } else if (first_failing == cudaSuccess) {
      first_failing = status;
      cudaGetLastError();
    }
  }
  return first_failing;
}

/// How often each step succeeds, of fifty times.
void rates(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  constexpr int times = 50;
  struct {
    int queries = 0, allocations = 0;
  } full, released;
  const auto device = current_device_memory();
  squeeze held(*device, pressed);
  t.sample("squeezed");
  observe(query_different(light, 1, times, &full.queries));
  observe(allocate_often(usual_workspace, times, &full.allocations));
  held.release();
  t.sample("released");
  observe(query_different(light, 1 + times, times, &released.queries));
  observe(allocate_often(usual_workspace, times, &released.allocations));
  t.measure("queries answered, squeezed", full.queries);
  t.measure("workspaces allocated, squeezed", full.allocations);
  t.measure("queries answered, released", released.queries);
  t.measure("workspaces allocated, released", released.allocations);
}

struct workspace_outcome {
  std::size_t allowed, free;  ///< bytes: the caller's limit, and of device memory before
  cublasStatus_t asked;
  std::size_t wanted;  ///< bytes, by the first algorithm
  cudaError_t allocated;
};

/// What a framework does: asks with the workspace that it allows, allocates that, multiplies.
workspace_outcome work_with_workspace(cublasLtHandle_t light, std::size_t allowed = usual_workspace) {
  lt_problem problem;
  trial::current().sample("before the query");
  workspace_outcome seen{};
  seen.allowed = allowed;
  seen.free = free_device_memory();
  seen.asked = query(light, problem, allowed);
  if (!problem.results().empty()) seen.wanted = problem.results().front().workspaceSize;
  void* workspace = nullptr;
  seen.allocated = observe(cudaMalloc(&workspace, allowed));
  if (seen.allocated == cudaSuccess) {
    observe(lt_product(light, workspace, allowed));
    require(cudaFree(workspace));
  } else {
    cudaGetLastError();
  }
  return seen;
}

/// A handle in a process that has multiplied before: what fails later is not the loading of code.
cublasLtHandle_t used_handle() {
  const cublasLtHandle_t light = new_lt_handle();
  require(lt_product(light));
  return light;
}

void no_room_for_the_workspace(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = used_handle();
  const auto device = current_device_memory();
  const squeeze held(*device, pressed);
  const auto seen = work_with_workspace(light);
  lt_problem problem;
  conclude_cause(t, light, problem, seen.asked,
                 fmt::format("with {} free the query that allows {} of workspace: {}, and its first "
                             "algorithm wants {} bytes; the caller's cudaMalloc of all that it allows: {}",
                             mib(seen.free), mib(seen.allowed), name_of(seen.asked), seen.wanted,
                             name_of(seen.allocated)));
}

// ---- faults: host memory ----

std::uint64_t address_space_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// As long as it lives this process gets no more than `bytes_left` of host memory: its address space may not
/// grow any further (at its start a CUDA process takes too much of it to limit it then), and what malloc has in
/// stock is used up.
class starved_host {
 public:
  explicit starved_host(std::uint64_t bytes_left) {
    if (getrlimit(RLIMIT_AS, &before_) != 0) fail();
    const std::uint64_t now = address_space_bytes();
    limit(now);
    // What was freed in small sizes is kept for those very sizes, which go up in steps of 16.
    for (std::size_t size = 1_MiB; size >= sizeof(void*); size = size > 2_KiB ? size / 2 : size - 16) {
      while (void* p = std::malloc(size)) {
        *static_cast<void**>(p) = stock_;
        stock_ = p;
      }
    }
    limit(now + bytes_left);
  }
  ~starved_host() {
    setrlimit(RLIMIT_AS, &before_);
    while (stock_ != nullptr) {
      void* next = *static_cast<void**>(stock_);
      std::free(stock_);
      stock_ = next;
    }
  }
  starved_host(const starved_host&) = delete;
  starved_host& operator=(const starved_host&) = delete;

 private:
  [[noreturn]] static void fail() {
    throw setup_failed(fmt::format("RLIMIT_AS: {}", std::generic_category().message(errno)));
  }
  void limit(std::uint64_t bytes) const {
    const rlimit now{bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_AS, &now) != 0) fail();
  }
  rlimit before_{};
  void* stock_ = nullptr;  // each block holds the address of the next
};

/// Starves the host for the length of the query alone: what is reported of it needs memory too.
cublasStatus_t query_on_a_starved_host(cublasLtHandle_t light, lt_problem& problem,
                                       std::uint64_t bytes_left) {
  return observe_call(query_text, [&] {
    const starved_host starved(bytes_left);
    return problem.heuristic(light);
  });
}

/// Has the n-th host allocation of cuBLASLt fail.
void query_without_allocation(trial& t, cublasLtHandle_t light, lt_problem& problem, unsigned long n) {
  host_faults::fail_allocation("libcublasLt", n);
  query(light, problem);
  t.measure("host allocations of cuBLASLt in the query",
            static_cast<double>(host_faults::allocations_counted()));
}

/// The same question and a product, now that the memory is there.
void query_and_multiply(cublasLtHandle_t light, lt_problem& problem) {
  query(light, problem);
  observe(lt_product(light));
}

void host_memory_used_up(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  lt_problem problem;
  query_on_a_starved_host(light, problem, static_cast<std::uint64_t>(t.rung()) << 10);
  query_and_multiply(light, problem);
}

void host_allocation_fails(trial& t, bool warm) {
  t.open_context();
  const cublasLtHandle_t light = new_lt_handle();
  lt_problem problem;
  if (warm) require(problem.heuristic(light));
  query_without_allocation(t, light, problem, static_cast<unsigned long>(t.rung()));
  query_and_multiply(light, problem);
}

// ---- remedies ----

void release_and_retry(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  squeeze held(*device, 0);
  t.sample("squeezed");
  create_query_multiply();
  t.apply("free all memory, create, ask and multiply again");
  held.release();
  create_query_multiply();
}

void allow_no_workspace(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = used_handle();
  const auto device = current_device_memory();
  const squeeze held(*device, pressed);
  work_with_workspace(light);
  t.apply("ask for algorithms that need no workspace");
  work_with_workspace(light, 0);
}

void halve_the_buffers(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = used_handle();
  const auto device = current_device_memory();
  squeeze held(*device, pressed, 2);
  work_with_workspace(light);
  t.apply("free half of the buffers, as a smaller batch or checkpointing would");
  held.release_half();
  work_with_workspace(light);
}

void heuristic_mode(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = used_handle();
  const auto device = current_device_memory();
  squeeze held(*device, pressed);
  work_with_workspace(light);
  if (t.stage() > 0) return;
  held.release();
  t.apply("the same in a new process with CUBLASLT_HEURISTIC_MODE=1");
  t.continue_in_new_process({{"CUBLASLT_HEURISTIC_MODE", "1"}});
}

// ---- dead ends ----

void larger_buffers(trial& t) {
  t.open_context();
  const cublasLtHandle_t light = used_handle();
  const auto device = current_device_memory();
  const squeeze held(*device, pressed);
  work_with_workspace(light);
  t.apply("larger buffers: they take all that was left");
  const squeeze held_too(*device, 0);
  work_with_workspace(light);
}

/// One setting of CUBLAS_WORKSPACE_CONFIG, in a process of its own: what its first cublasCreate takes with the device empty, and
/// what became of a query and of the caller's workspace under pressure.
struct setting_outcome {
  std::string setting, created, asked, allocated;
  std::uint64_t taken_mib = 0, free_mib = 0;
};

setting_outcome try_setting(const std::string& setting) {
  const cublasLtHandle_t light = used_handle();
  setting_outcome seen{.setting = setting, .created = {}, .asked = {}, .allocated = {}};
  const std::size_t before = free_device_memory();
  cublasHandle_t handle = nullptr;
  seen.created = name_of(cublasCreate(&handle));
  seen.taken_mib = (before - std::min(before, free_device_memory())) >> 20;
  const auto device = current_device_memory();
  const squeeze held(*device, pressed);
  const workspace_outcome outcome = work_with_workspace(light);
  seen.free_mib = outcome.free >> 20;
  seen.asked = name_of(outcome.asked);
  seen.allocated = name_of(outcome.allocated);
  return seen;
}

/// "SUCCESS with A, B; ALLOC_FAILED with C": the settings by what became of them.
std::string by_outcome(const std::vector<setting_outcome>& all, std::string setting_outcome::*outcome) {
  std::map<std::string, std::vector<std::string>> settings;
  for (const auto& o : all) settings[o.*outcome].push_back(o.setting);
  std::vector<std::string> words;
  for (const auto& [status, with] : settings)
    words.push_back(fmt::format("{} with {}", status, fmt::join(with, ", ")));
  return fmt::format("{}", fmt::join(words, "; "));
}

void workspace_settings(trial& t) {
  // :4096:64, which is 256 MiB, is the one that should take more than the default.
  static constexpr std::array settings{"unset", ":0:0", ":16:8", ":4096:8", ":4096:64", "malformed"};
  const auto stage = static_cast<std::size_t>(t.stage());
  const auto file = t.scratch() / "outcomes";
  t.open_context();
  const auto seen = try_setting(settings.at(stage));
  std::ofstream(file, std::ios::app) << fmt::format("{} {} {} {} {} {}\n", seen.setting, seen.created,
                                                    seen.asked, seen.allocated, seen.taken_mib,
                                                    seen.free_mib);
  if (stage == 0)
    t.apply("the same in new processes with :0:0, :16:8, :4096:8, :4096:64 and a malformed value");
  if (stage + 1 < settings.size()) {
    t.continue_in_new_process({{"CUBLAS_WORKSPACE_CONFIG", settings.at(stage + 1)}});
    return;
  }

  std::vector<setting_outcome> all;
  std::ifstream lines(file);
  for (setting_outcome o;
       lines >> o.setting >> o.created >> o.asked >> o.allocated >> o.taken_mib >> o.free_mib;)
    all.push_back(o);
  const setting_outcome& unset = all.front();
  const auto fails = [](const setting_outcome& o) { return o.asked != name_of(CUBLAS_STATUS_SUCCESS); };
  const bool one_takes_more = std::any_of(all.begin(), all.end(), [&](const auto& o) {
    return o.created == name_of(CUBLAS_STATUS_SUCCESS) && o.taken_mib > unset.taken_mib;
  });
  const auto [least, most] = std::minmax_element(
      all.begin(), all.end(), [](const auto& x, const auto& y) { return x.free_mib < y.free_mib; });
  std::vector<std::string> taken;
  for (const auto& o : all)
    taken.push_back(fmt::format("{} with {} ({})", o.taken_mib, o.setting, o.created));
  // Only where the query fails is there something for a setting to fix.
  if (fails(unset))
    t.conclude(
        "S2-12", std::all_of(all.begin(), all.end(), fails),
        fmt::format("the caller's cudaMalloc of a workspace of {}, with {} to {} MiB free: {}; the query: {}",
                    mib(usual_workspace), least->free_mib, most->free_mib,
                    by_outcome(all, &setting_outcome::allocated), by_outcome(all, &setting_outcome::asked)));
  t.conclude("S2-12", one_takes_more,
             fmt::format("MiB of device memory that the first cublasCreate of a process takes: {}",
                         fmt::join(taken, ", ")));
}

// ---- the case ----

failure_case under_pressure() {
  failure_case c;
  c.name = "heuristic.under_pressure";
  c.summary = "cublasLtMatmulAlgoGetHeuristic, and what comes after it, with device or host memory used up";
  c.failures = {"F-MEM-02"};

  const ladder device_left{"MiB asked to stay free", {0, 2, 64}};
  for (const bool eager : {false, true}) {
    const auto add_mode = [&](const std::string& name, arm_kind kind, const std::string& summary,
                              void (*body)(trial&), std::vector<std::string> claims = {},
                              std::optional<ladder> rungs = {}) {
      const std::string mode = eager ? "eager" : "lazy";
      arm& a =
          c.add(name + "_" + mode, kind, summary + ", " + mode + " module loading", body, std::move(claims));
      a.rungs = std::move(rungs);
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
      add_twin(c, squeezed + std::string(eager ? "eager" : "lazy"));
    if (eager)  // where something fails
      add_mode("release_and_retry", arm_kind::remedy, "free the memory, create, ask and multiply again",
               release_and_retry);
  }

  c.add("workspace_allowed", arm_kind::fault,
        "more and more workspace allowed on a device squeezed to 16 MiB, and its allocation",
        workspace_allowed, {"S2-2", "S2-4"})
      .rungs = ladder{"MiB of workspace allowed", {0, 1, 32, 1024, 512 * 1024}};
  c.add("no_room_for_workspace", arm_kind::fault,
        "the caller's workspace of 32 MiB on a device squeezed to 16 MiB", no_room_for_the_workspace,
        {"S2-4"});
  c.add("rates", arm_kind::fault, "fifty queries and fifty workspace allocations, under pressure and without",
        rates);
  c.add("no_workspace", arm_kind::remedy, "allow no workspace", allow_no_workspace);
  c.add("halve_buffers", arm_kind::remedy, "free half of the buffers, for the caller's workspace",
        halve_the_buffers);
  c.add("heuristic_mode", arm_kind::remedy, "CUBLASLT_HEURISTIC_MODE=1", heuristic_mode)
      .environment["CUBLASLT_HEURISTIC_MODE"] = "";
  c.add("larger_buffers", arm_kind::dead_end, "buffers that take the rest of the device", larger_buffers);
  c.add("workspace_settings", arm_kind::dead_end, "every form of CUBLAS_WORKSPACE_CONFIG", workspace_settings,
        {"S2-12"});

  for (const char* squeezed : {"workspace_allowed", "no_room_for_workspace", "rates"}) add_twin(c, squeezed);

  // A query that loses a host allocation may never return.
  const auto add_host = [&](const std::string& name, arm_kind kind, const std::string& summary,
                            std::function<void(trial&)> body, const ladder& rungs) -> arm& {
    arm& a = c.add(name, kind, summary, std::move(body));
    a.rungs = rungs;
    a.timeout = std::chrono::seconds(10);
    return a;
  };
  add_host("host_memory", arm_kind::fault, "the host's memory is used up at the first query",
           host_memory_used_up, ladder{"KiB of host memory left", {0, 256, 4096}});
  under_injector(add_host(
      "allocation_first_query", arm_kind::fault, "one host allocation of cuBLASLt fails in the first query",
      [](trial& t) { host_allocation_fails(t, false); },
      ladder{"th host allocation", {1, 2, 3, 5, 10, 20, 50, 100, 1000}}));
  under_injector(add_host(
      "allocation_same_query", arm_kind::fault,
      "one host allocation of cuBLASLt fails in the same query again",
      [](trial& t) { host_allocation_fails(t, true); }, ladder{"th host allocation", {1, 2, 5}}));
  c.in_tier = {"control_lazy", "first_query_lazy", "no_room_for_workspace", "host_memory"};
  return c;
}

const register_case here{under_pressure()};

}  // namespace
}  // namespace cufault
