// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A kernel whose machine code is for another architecture only, PTX that is newer than the
//              driver or for a newer architecture than the device, a launch that asks for more than the
//              device has; and what cuBLAS does beside them.
// Why          Machine code runs on the major architecture that it was built for, PTX is compiled for the
//              device when it is loaded, by the driver, which knows the PTX of its own release and older.
// Documented   CUDA Programming Guide, Binary and PTX Compatibility and CUDA Environment Variables; CUDA
//              Driver API, CUresult 209 and 222; llama.cpp#4215, ollama#12316, flashinfer#920,
//              chatglm.cpp#12, gvdb#120, Paddle#55779. Two source documents say that all components must be
//              built for one compute capability (S0-4), and that a missing hardware capability shows as
//              `invalid argument` (S1-11).
// Measured     209 and 222 as documented, 218 (invalid PTX) for PTX of a newer architecture, cudaErrorInvalidValue for
//              the launch. cuBLAS works beside all of it, but where CUDA_FORCE_PTX_JIT=1: then cublasCreate itself
//              returns INTERNAL_ERROR (ptx_forced of the matrix has every operation).
// What helps   Recommended: PTX beside the machine code. Said not to help: other architecture flags alone against
//              222, which is not measured yet; a newer driver against 209, which is no arm, as a machine has one
//              driver.
#include "cases/environment/other_code.hpp"
#include "harness/binding/driver_api.hpp"
#include "harness/injection/counterparts.hpp"
#include "harness/kit/products.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>

namespace cufault {
namespace {

/// Throws if the library's code is not foreign here. In a counterpart rules make it foreign.
void require_foreign_code(trial& t, const code_library& foreign) {
  const int built_for = foreign.architecture(), device = t.compute_capability();
  if (!in_counterpart() && built_for / 10 == device / 10 && built_for <= device)
    throw not_provoked(fmt::format("this device runs machine code for {}", built_for));
}

constexpr const char* any_driver = "7.0";
constexpr const char* no_driver_yet = "99.0";

std::string ptx(const char* version, const char* target) {
  return fmt::format(".version {}\n.target {}\n.address_size 64\n.visible .entry nothing() {{ ret; }}\n",
                     version, target);
}

/// PTX 8.7, the first that knows sm_120, came with CUDA 12.8.
bool driver_knows_sm_120() {
  int driver = 0;
  CUFAULT_REQUIRE(cudaDriverGetVersion(&driver));
  return driver >= 12080;
}

/// Returns the status of the first failing call.
CUresult load_and_run(const std::string& text) {
  CUmodule module = nullptr;
  if (CUresult e = driver::cuModuleLoadData(&module, text.c_str())) return e;
  CUfunction nothing = nullptr;
  CUresult e = driver::cuModuleGetFunction(&nothing, module, "nothing");
  if (e == CUDA_SUCCESS) e = driver::cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  if (e == CUDA_SUCCESS) e = driver::cuCtxSynchronize();
  const CUresult unloaded = driver::cuModuleUnload(module);
  return e == CUDA_SUCCESS ? unloaded : e;
}

/// Runs the work under a variable that the driver reads at its start: in its own process, before this one makes its first CUDA call.
/// Kernels of cufault may have no PTX for the device and are not used there.
void work_in_process_with(trial& t, const char* variable, const std::function<void()>& work) {
  t.in_forked_child([&] {
    if (variable != nullptr && !in_counterpart()) setenv(variable, "1", 1);
    CUFAULT_OBSERVE(cudaSetDevice(t.device()));
    work();
  });
}

constexpr const char* force_ptx = "CUDA_FORCE_PTX_JIT";
constexpr const char* forbid_ptx = "CUDA_DISABLE_PTX_JIT";

// ---- controls ----

void control(trial& t) {
  const code_library matching(code_for_this_device), ptx_only(code_as_ptx);
  t.open_context();
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "matching_code", matching.run());
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run());
  CUFAULT_OBSERVE_AS("cuModuleLoadData", "ptx_7.0_and_run", load_and_run(ptx(any_driver, "sm_75")));
  // The version of ptx_for_newer_device, for a target that this device supports.
  if (driver_knows_sm_120())
    CUFAULT_OBSERVE_AS("cuModuleLoadData", "ptx_8.7_and_run", load_and_run(ptx("8.7", "sm_75")));
  create_and_multiply();
  t.measure("architecture of the PTX", ptx_only.architecture());
  t.measure("architecture of the device", t.compute_capability());
}

// ---- faults ----

void foreign_code(trial& t) {
  const code_library foreign(in_counterpart() ? code_for_this_device : code_for_another);
  t.open_context();
  require_foreign_code(t, foreign);
  t.note("code",
         fmt::format("machine code for {} alone on {}", foreign.architecture(), t.compute_capability()));
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "foreign_code", foreign.run());
  create_and_multiply();
}

void too_much_shared_memory(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE_AS("cudaLaunchKernel", "too_much_shared_memory", launch_with_too_much_shared_memory());
  create_and_multiply();
}

void ptx_newer_than_driver(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE_AS("cuModuleLoadData", "ptx_99.0_and_run",
                     load_and_run(ptx(in_counterpart() ? any_driver : no_driver_yet, "sm_75")));
  create_and_multiply();
}

void ptx_for_newer_device(trial& t) {
  t.open_context();
  if (!driver_knows_sm_120()) throw not_provoked("this driver does not know PTX of version 8.7");
  if (t.compute_capability() >= 120 && !in_counterpart())
    throw not_provoked("this device is as new as the PTX");
  CUFAULT_OBSERVE_AS("cuModuleLoadData", "ptx_8.7_sm_120_and_run",
                     load_and_run(ptx("8.7", in_counterpart() ? "sm_75" : "sm_120")));
  create_and_multiply();
}

/// INTERNAL_ERROR from cublasCreate, but no evidence for S0-1: it comes from a setting, and all versions agree.
void cublas_ptx_forced(trial& t) {
  work_in_process_with(t, force_ptx, create_and_multiply_from_host);
}

void ptx_forbidden(trial& t) {
  const code_library matching(code_for_this_device), ptx_only(code_as_ptx);
  work_in_process_with(t, forbid_ptx, [&] {
    CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "matching_code", matching.run());
    CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run());
    create_and_multiply_from_host();
  });
}

// ---- remedies ----

void add_ptx(trial& t) {
  const code_library foreign(code_for_another), ptx_only(code_as_ptx);
  t.open_context();
  require_foreign_code(t, foreign);
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "foreign_code", foreign.run());
  t.apply("the same source with PTX");
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run());
  create_and_multiply();
}

void force_no_longer(trial& t) {
  const code_library matching(code_for_this_device);
  work_in_process_with(t, force_ptx, [&] {
    CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "matching_code", matching.run());
    create_and_multiply_from_host();
  });
  t.apply("a process without CUDA_FORCE_PTX_JIT");
  t.open_context();
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "matching_code", matching.run());
  create_and_multiply();
}

void forbid_no_longer(trial& t) {
  const code_library ptx_only(code_as_ptx);
  work_in_process_with(t, forbid_ptx,
                       [&] { CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run()); });
  t.apply("a process without CUDA_DISABLE_PTX_JIT");
  t.open_context();
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run());
  create_and_multiply();
}

// ---- the case ----

/// Rules for a counterpart: the library's code for the device is refused, whichever function loads it.
std::string refused_code_of(const char* library, const char* code) {
  // Forced, because the documentation of some of these functions lacks codes that they return.
  const auto rule = [&](const char* function) {
    return fmt::format(R"({{"function": "{}", "caller": "{}", "return": "{}", "force": true}})", function,
                       library, code);
  };
  return fmt::format(R"({{"rules": [{}, {}]}})", rule("cuLibraryLoad*"), rule("cuModuleLoad*"));
}

void wrong_code(failure_case& c) {
  c.control("machine code for this device, PTX for an older one, also as version 8.7, and cuBLAS", control,
            {"S0-4"});

  c.fault("foreign_code", "machine code for another architecture only", foreign_code, {"S0-4", "S1-11"});
  c.fault("too_much_shared_memory", "a launch with more shared memory than the device has",
          too_much_shared_memory, {"S1-11"});
  c.fault("ptx_newer_than_driver", "PTX of a version that no driver knows yet", ptx_newer_than_driver,
          {"S1-13"});
  c.fault("ptx_for_newer_device",
          "PTX for compute capability 12.0, of the version that the control loads for 7.5",
          ptx_for_newer_device, {"S1-11"});
  c.fault("cublas_ptx_forced", "CUDA_FORCE_PTX_JIT=1: has cuBLAS PTX for this device", cublas_ptx_forced);
  c.fault("ptx_forbidden", "CUDA_DISABLE_PTX_JIT=1: PTX is ignored", ptx_forbidden);

  c.remedy("add_ptx", "build PTX too", add_ptx);
  c.remedy("force_no_longer", "a new process without CUDA_FORCE_PTX_JIT", force_no_longer);
  c.remedy("forbid_no_longer", "a new process without CUDA_DISABLE_PTX_JIT", forbid_no_longer);
  for (arm& a : c.arms) a.environment.insert({{force_ptx, ""}, {forbid_ptx, ""}});

  // A launch with too much has no counterpart: no version of anything makes it fail.
  add_counterpart(c, "foreign_code", refused_code_of(code_for_this_device, "NO_BINARY_FOR_GPU"));
  add_counterpart(
      c, "ptx_newer_than_driver",
      R"({"rules": [{"function": "cuModuleLoadData", "caller": "application", "return": "UNSUPPORTED_PTX_VERSION"}]})");
  add_counterpart(
      c, "ptx_for_newer_device",
      R"({"rules": [{"function": "cuModuleLoadData", "caller": "application", "return": "INVALID_PTX"}]})");
  add_counterpart(c, "cublas_ptx_forced", refused_code_of("libcublas*", "NO_BINARY_FOR_GPU"));
  add_counterpart(c, "ptx_forbidden", refused_code_of(code_as_ptx, "JIT_COMPILATION_DISABLED"));
  c.in_tier = {"control", "foreign_code", "ptx_forbidden", "add_ptx"};
}

const register_case here(
    "environment.wrong_code",
    "device code that is for another architecture, newer than the driver, or asks for too much",
    {"F-ENV-06", "F-ENV-07"}, wrong_code);

}  // namespace
}  // namespace cufault
