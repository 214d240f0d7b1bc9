// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, and then everything else that needs device memory, after handles were created
// and never destroyed. Why          Each handle keeps a workspace in device memory until cublasDestroy.
// Documented   cuBLAS documentation, 2.1.2 and cublasDestroy; users: LeetCUDA#414, TransformerEngine#1372,
// TensorRT-LLM#8533.
//              One source document says that the leak ends in CUBLAS_STATUS_INTERNAL_ERROR (S0-10).
// What helps   Destroying handles (RAII, also when an exception passes), one handle a thread for good, a
// smaller workspace.
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <unistd.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace cufault {
namespace {

struct destroy_handle {
  void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
};
using owned_handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy_handle>;

std::size_t free_now() {
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total));
  return free;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::size_t more_than_any_device_holds = 100'000;

/// Creates handles until one fails, and observes that one. The loop's own calls are not observed one by one:
/// there may be thousands.
std::vector<cublasHandle_t> create_until_failure(trial& t) {
  std::vector<cublasHandle_t> handles;
  const std::size_t device_before = free_now();
  std::size_t device_after = device_before, host_before = 0, host_after = 0;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  while (status == CUBLAS_STATUS_SUCCESS && handles.size() < more_than_any_device_holds) {
    cublasHandle_t handle = nullptr;
    status = cublasCreate(&handle);
    if (status != CUBLAS_STATUS_SUCCESS) break;
    handles.push_back(handle);
    if (handles.size() == 1) host_before = resident_bytes();  // the first one also loads the library
    device_after = free_now();
  }
  host_after = resident_bytes();
  cublasHandle_t one_more = nullptr;
  observe(cublasCreate(&one_more));
  t.sample("leaked");
  const auto count = static_cast<double>(handles.size());
  t.measure("handles created", count, "handles");
  t.measure("first failing status", status, "");
  if (handles.size() > 1) {
    t.measure("device memory per handle", static_cast<double>(device_before - device_after) / count, "bytes");
    t.measure("host memory per further handle",
              (static_cast<double>(host_after) - static_cast<double>(host_before)) / (count - 1), "bytes");
  }
  return handles;
}

void create_and_multiply() {
  cublasHandle_t handle = nullptr;
  if (observe(cublasCreate(&handle)) != CUBLAS_STATUS_SUCCESS) return;
  observe(product(handle));
  observe(cublasDestroy(handle));
}

/// Room for about a hundred default handles: enough to leak, quick to fill.
constexpr std::uint64_t room = 8_GiB;

// ---- control ----

void control(trial& t) {
  t.open_context();
  const std::size_t before = free_now();
  create_and_multiply();
  create_and_multiply();
  t.measure("device memory not given back by cublasDestroy",
            static_cast<double>(before) - static_cast<double>(free_now()), "bytes");
}

// ---- faults ----

void leak_in_a_corner(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  create_until_failure(t);
}

void leak_the_whole_device(trial& t) {
  t.open_context();
  create_until_failure(t);
}

/// What else breaks once the leak has run its course: S0-11.
void what_breaks_then(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  const auto handles = create_until_failure(t);
  void* memory = nullptr;
  const cudaError_t allocated = observe(cudaMalloc(&memory, 64_MiB));
  cudaGetLastError();
  cublasLtHandle_t light = nullptr;
  const cublasStatus_t light_status = observe(cublasLtCreate(&light));
  bool old_handle_works = false;
  if (!handles.empty()) {
    const cublasHandle_t old_handle = handles.front();
    old_handle_works = observe(product(old_handle)).ok();
  }
  t.find("S0-11", allocated != cudaSuccess,
         fmt::format("cudaMalloc of 64 MiB: {}; cublasLtCreate: {}; a product by an older handle: {}",
                     record_of(allocated).name, record_of(light_status).name,
                     old_handle_works ? "right" : "fails"));
}

// ---- remedies ----

void destroy_all_then_create(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  const auto handles = create_until_failure(t);
  t.apply("destroy the leaked handles, create again");
  for (const cublasHandle_t handle : handles) require(cublasDestroy(handle));
  t.sample("destroyed");
  create_and_multiply();
}

void destroy_one_then_create(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  const auto handles = create_until_failure(t);
  t.apply("destroy one of the leaked handles, create again");
  if (!handles.empty()) require(cublasDestroy(handles.back()));
  create_and_multiply();
}

/// Twice as many handles as fit, one at a time.
void destroy_each(trial& t) {
  t.open_context();
  t.apply("destroy each handle before the next is created");
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  for (int i = 0; i < 300; ++i) {
    cublasHandle_t handle = nullptr;
    require(cublasCreate(&handle));
    require(cublasDestroy(handle));
  }
  create_and_multiply();
}

void one_cached_handle(trial& t) {
  t.open_context();
  t.apply("one handle for all the work");
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  cublasHandle_t handle = nullptr;
  observe(cublasCreate(&handle));
  const std::size_t before = free_now();
  for (int i = 0; i < 300; ++i) {
    if (!product(handle).ok()) throw setup_failed("a product in the loop was wrong");
  }
  t.measure("device memory taken by 300 products",
            static_cast<double>(before) - static_cast<double>(free_now()), "bytes");
  observe(product(handle));
  observe(cublasDestroy(handle));
}

/// Work that throws while it has a handle, as often as would fill the device. S0-13: is the handle released?
template <bool with_raii>
std::size_t throw_often() {
  const std::size_t before = free_now();
  for (int i = 0; i < 20; ++i) {
    try {
      cublasHandle_t handle = nullptr;
      require(cublasCreate(&handle));
      const owned_handle owner(with_raii ? handle : nullptr);
      throw std::runtime_error("the work failed");
    } catch (const std::runtime_error&) {  // as a caller who carries on would
    }
  }
  return before - std::min(before, free_now());
}

void raii_through_exceptions(trial& t) {
  t.open_context();
  t.apply("an owner whose destructor destroys the handle");
  create_and_multiply();  // the first handle of a process also loads code
  const std::size_t with = throw_often<true>();
  const std::size_t without = throw_often<false>();
  t.measure("device memory lost by 20 exceptions with an owner", static_cast<double>(with), "bytes");
  t.measure("device memory lost by 20 exceptions without one", static_cast<double>(without), "bytes");
  t.find("S0-13", with == 0 && without > 0,
         fmt::format("20 exceptions lost {} MiB with an owner, {} MiB without", with >> 20, without >> 20));
  create_and_multiply();
}

/// More than the default room holds, with a smaller workspace each.
void smaller_workspace(trial& t) {
  t.open_context();
  t.apply("CUBLAS_WORKSPACE_CONFIG");
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  const std::size_t before = free_now();
  std::vector<cublasHandle_t> handles;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  while (status == CUBLAS_STATUS_SUCCESS && handles.size() < 200) {
    cublasHandle_t handle = nullptr;
    status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) handles.push_back(handle);
  }
  t.measure("handles created, of 200", static_cast<double>(handles.size()), "handles");
  if (!handles.empty()) {
    t.measure("device memory per handle",
              static_cast<double>(before - free_now()) / static_cast<double>(handles.size()), "bytes");
  }
  create_and_multiply();
}

// ---- dead ends ----

void keep_on_creating(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  create_until_failure(t);
  t.apply("create again, nothing destroyed");
  create_and_multiply();
}

// ---- the case ----

failure_case handle_leak() {
  failure_case c;
  c.name = "memory.handle_leak";
  c.summary = "cuBLAS handles that are created and never destroyed, until nothing can be created any more";
  c.failures = {"F-LIF-03", "F-MEM-04"};
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&),
                       std::vector<std::string> claims = {}, const char* workspace = "") {
    arm a;
    a.name = name;
    a.kind = kind;
    a.summary = summary;
    a.claims = std::move(claims);
    a.body = body;
    a.environment = {{"CUDA_MODULE_LOADING", "LAZY"}, {"CUBLAS_WORKSPACE_CONFIG", workspace}};
    c.arms.push_back(std::move(a));
  };
  add("control", arm_kind::control, "create, multiply, destroy, twice", control);
  add("leak_8_gib", arm_kind::fault, "leak until 8 GiB are gone", leak_in_a_corner, {"S0-10"});
  add("leak_whole_device", arm_kind::fault, "leak until the device is full", leak_the_whole_device,
      {"S0-10"});
  add("what_breaks_then", arm_kind::fault,
      "cudaMalloc, cublasLtCreate and an old handle, once the leak has filled 8 GiB", what_breaks_then,
      {"S0-11"});
  add("destroy_all", arm_kind::remedy, "destroy what leaked, create again", destroy_all_then_create);
  add("destroy_one", arm_kind::remedy, "destroy one handle, create again", destroy_one_then_create);
  add("destroy_each", arm_kind::remedy, "destroy each handle before the next", destroy_each);
  add("one_cached_handle", arm_kind::remedy, "one handle for all the work", one_cached_handle);
  add("raii_through_exceptions", arm_kind::remedy, "an owner destroys the handle when the work throws",
      raii_through_exceptions, {"S0-13"});
  add("workspace_0", arm_kind::remedy, "200 handles in 8 GiB with CUBLAS_WORKSPACE_CONFIG=:0:0",
      smaller_workspace, {}, ":0:0");
  add("workspace_16", arm_kind::remedy, "200 handles in 8 GiB with CUBLAS_WORKSPACE_CONFIG=:16:8",
      smaller_workspace, {}, ":16:8");
  add("workspace_4096", arm_kind::remedy, "200 handles in 8 GiB with CUBLAS_WORKSPACE_CONFIG=:4096:8",
      smaller_workspace, {}, ":4096:8");
  add("keep_on_creating", arm_kind::dead_end, "create again without destroying", keep_on_creating);
  return c;
}

const register_case here{handle_leak()};

}  // namespace
}  // namespace cufault
