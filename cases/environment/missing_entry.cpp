// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   First calls and launches on a driver that lacks one function. Made up: no driver that this runtime accepts lacks
//              most of these; it shows what each is needed for, and which status its absence becomes.
// Why          Each CUDA runtime, the one inside of cuBLAS too, looks every driver function up by name
//              (cuGetProcAddress) and finds out at its first use what the driver does not have.
// Documented   CUDA Runtime API, cudaError_t 36 (cudaErrorCallRequiresNewerDriver); CUDA Compatibility, Minor
//              Version Compatibility: a feature that the driver lacks fails alone, the rest works.
// What helps   Recommended: a driver that has it; asking for the function before using what needs it.
// The function is hidden from every runtime in the process; the driver itself is the machine's.
#include "cases/environment/other_code.hpp"
#include "harness/host_faults/host_faults.hpp"

#include <cctype>
#include <cstdlib>

namespace cufault {
namespace {

/// The documented test for a feature. It leaves no trace.
bool driver_has(const char* entry) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t left_before = cudaPeekAtLastError();
#if CUDART_VERSION >= 12050
  const cudaError_t asked =
      cudaGetDriverEntryPointByVersion(entry, &found, CUDART_VERSION, cudaEnableDefault, &how);
#else
  const cudaError_t asked = cudaGetDriverEntryPoint(entry, &found, cudaEnableDefault, &how);
#endif
  if (asked != cudaSuccess && left_before == cudaSuccess) cudaGetLastError();
  return asked == cudaSuccess && how == cudaDriverEntryPointSuccess && found != nullptr;
}

/// Our own kernels, by the runtime of this program.
product_result plain_kernels() {
  product_result result;
  result.waited = prove_context(fresh_seed(), &result.right);
  return result;
}

void work(trial& t) {
  observe(cudaSetDevice(t.device()));
  if (const char* hidden = std::getenv(host_faults::hidden_entry_variable)) {
    const bool found = driver_has(hidden);
    t.measure("found by cudaGetDriverEntryPoint", found ? 1 : 0);
    if (found) throw not_provoked(std::string("this driver's ") + hidden + " could not be hidden");
  }
  create_and_multiply_from_host();
  cublasLtHandle_t light = nullptr;
  if (observe(cublasLtCreate(&light)) == CUBLAS_STATUS_SUCCESS) observe(cublasLtDestroy(light));
  observe(plain_kernels());
}

// ---- remedies ----

void driver_that_has_it(trial& t) {
  work(t);
  if (t.stage() > 0) return;
  t.apply("start again on a driver that has the function");
  t.continue_in_new_process({{host_faults::hidden_entry_variable, ""}});
}

// ---- dead ends ----

void retry_alone(trial& t) {
  work(t);
  t.apply("the same calls again");
  work(t);
}

// ---- the case ----

/// "cuMemAllocAsync": "without_mem_alloc_async".
std::string arm_without(std::string_view entry) {
  std::string name = "without";
  for (const char c : entry.substr(2)) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

failure_case missing_entry() {
  failure_case c;
  c.name = "environment.missing_entry";
  c.summary = "a driver that lacks one function, as an older one does";
  c.failures = {"F-ENV-09"};
  const auto add = [&](const std::string& name, arm_kind kind, const std::string& summary,
                       void (*body)(trial&), const char* hidden) {
    arm& a = c.add(name, kind, summary, body);
    a.environment[host_faults::hidden_entry_variable] = hidden;
    a.preload = host_faults::preload();
  };

  add("control", arm_kind::control, "nothing is hidden", work, "");

  // What every program uses from the start, then what was added over time.
  for (const char* entry :
       {"cuMemAlloc", "cuLibraryLoadData", "cuLaunchKernel", "cuStreamIsCapturing", "cuLaunchKernelEx",
        "cuTensorMapEncodeTiled", "cuDeviceGetAttribute", "cuEventCreate", "cuStreamCreateWithPriority",
        "cuFuncSetAttribute", "cuMemsetD8Async", "cuModuleLoadData", "cuMemGetInfo", "cuMemAllocAsync",
        "cuLibraryGetKernel", "cuKernelGetFunction"}) {
    add(arm_without(entry), arm_kind::fault, std::string("as if the driver had no ") + entry, work, entry);
  }

  add("driver_that_has_it", arm_kind::remedy, "start again on a driver that has the function",
      driver_that_has_it, "cuMemAlloc");
  add("retry_alone", arm_kind::dead_end, "the same calls again", retry_alone, "cuMemAlloc");
  c.quick = {"control",
             "without_mem_alloc",
             "without_library_load_data",
             "without_launch_kernel",
             "without_launch_kernel_ex",
             "driver_that_has_it",
             "retry_alone"};
  return c;
}

const register_case here{missing_entry()};

}  // namespace
}  // namespace cufault
