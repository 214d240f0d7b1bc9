// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   First calls and launches on a driver that lacks one function. Made up: a driver too old to have one of these is
//              refused by the runtime before anything asks for it (environment/driver_missing). It shows what each is needed
//              for, and which status its absence becomes.
// Why          Each CUDA runtime, the one inside of cuBLAS too, looks every driver function up by name
//              (cuGetProcAddress) and finds out at its first use what the driver does not have.
// Documented   CUDA Runtime API, cudaError_t 36 (cudaErrorCallRequiresNewerDriver); CUDA Compatibility, Minor
//              Version Compatibility: a feature that the driver lacks fails alone, the rest works. A source document
//              says that version disagreement makes cublasCreate return INTERNAL_ERROR (S0-1): what is made up confirms nothing of that.
// What helps   Recommended: a driver that has it; asking for the function before using what needs it, which is not
//              measured yet.
// The function is hidden from every runtime in the process; the driver itself is the machine's. So every arm is injected itself, and
// none has a counterpart.
#include "cases/environment/other_code.hpp"
#include "cases/environment/other_driver.hpp"
#include "harness/injection/host_faults.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/kit/products.hpp"

#include <array>
#include <cctype>
#include <functional>

namespace cufault {
namespace {

/// The documented test for a feature. Clears its error.
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

/// Kernels of cufault, by the runtime of this program.
product_result plain_kernels() {
  product_result result;
  result.waited = prove_context(fresh_seed(), &result.right);
  return result;
}

void work(trial& t, const char* hidden) {
  CUFAULT_OBSERVE(cudaSetDevice(t.device()));
  if (hidden != nullptr) {
    const bool found = driver_has(hidden);
    t.measure("found by cudaGetDriverEntryPoint", found ? 1 : 0);
    if (found) throw not_provoked(std::string("this driver's ") + hidden + " could not be hidden");
  }
  create_and_multiply_from_host();
  cublasLtHandle_t lt = nullptr;
  if (CUFAULT_OBSERVE(cublasLtCreate(&lt)) == CUBLAS_STATUS_SUCCESS) CUFAULT_OBSERVE(cublasLtDestroy(lt));
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "plain_product", plain_kernels());
}

// ---- controls ----

void nothing_hidden(trial& t) {
  work(t, nullptr);
}

// ---- faults ----

struct driver_function {
  const char* name;
  int since;  ///< the CUDA version that its type has in cudaTypedefs.h
};

// driver_without_entry of the matrix hides another function.
constexpr std::array functions{driver_function{"cuMemAlloc", 2000},
                               driver_function{"cuLibraryLoadData", 12000},
                               driver_function{"cuLaunchKernelEx", 11060}};

std::string made_up(const driver_function& f) {
  return fmt::format("made up: as if the driver had no {}, which is there since CUDA {}", f.name,
                     cuda_version(f.since));
}

// ---- remedies ----

constexpr const char* answered = "cuMemAlloc";  // the function whose absence the remedy handles

void driver_that_has_it(trial& t) {
  if (t.stage() > 0) return work(t, nullptr);
  work(t, answered);
  t.apply("start again on a driver that has the function");
  t.continue_in_new_process(host_faults::nothing_hidden());
}

// ---- the case ----

/// "without_mem_alloc_async" for "cuMemAllocAsync".
std::string arm_without(std::string_view entry) {
  std::string name = "without";
  for (const char c : entry.substr(2)) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

void missing_entry(failure_case& c) {
  c.made_up = true;
  const auto add = [&](const std::string& name, arm_kind kind, const std::string& summary,
                       std::function<void(trial&)> body, const char* hidden) {
    arm& a = c.add(name, kind, summary, std::move(body));
    under_injector(a, hidden != nullptr ? host_faults::hidden(hidden) : "");
  };

  add("control", arm_kind::control, "nothing is hidden", nothing_hidden, nullptr);

  for (const driver_function& f : functions)
    add(
        arm_without(f.name), arm_kind::fault, made_up(f), [f](trial& t) { work(t, f.name); }, f.name);

  add("driver_that_has_it", arm_kind::remedy, "start again on a driver that has the function",
      driver_that_has_it, answered);
  c.in_tier = {"control", "without_mem_alloc", "without_launch_kernel_ex", "driver_that_has_it"};
}

const register_case here("environment.missing_entry",
                         "made up: a driver of the right version that lacks one function", {"F-ENV-09"},
                         missing_entry);

}  // namespace
}  // namespace cufault
