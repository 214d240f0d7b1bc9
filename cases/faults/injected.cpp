// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Made up by libcufault.so: a driver call fails, or a driver function is missing.
#include "harness/injection/host_faults.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/matrix/world.hpp"

#include <cublas_v2.h>

#include <string>

#include "cufault/cufault_injector.h"

namespace cufault {
namespace {

/// A rule that fails the next driver call matching `function`, from any library. Replaces all rules of the process; the destructor removes
/// them. The constructor throws not_provoked if libcufault.so is not preloaded, setup_failed if it refuses the rule.
class failing_driver_call {
 public:
  failing_driver_call(const std::string& function, const std::string& code) {
    set_rules(R"({"rules": [{"function": ")" + function + R"(", "return": ")" + code + R"(", "hits": 1}]})");
  }
  ~failing_driver_call() { set_(""); }
  failing_driver_call(const failing_driver_call&) = delete;
  failing_driver_call& operator=(const failing_driver_call&) = delete;

 private:
  decltype(&cufault_set_rules) set_ = CUFAULT_PRELOADED(cufault_set_rules);
};

fault_type injected(fault_type f) {
  f.made_up = true;
  f.arrange = [](arm& a) { under_injector(a); };
  return f;
}

const register_faults here{
    // What fails   With cuBLAS 13.1.0 on an H200: cublasCreate, cublasXtSgemm, cudaMalloc, cudaMallocAsync and cudaMallocManaged. sweep.OPERATION
    //              fails each driver call of an operation.
    // Why          The driver's next allocation fails, though there is memory: in the operation, or in its proof if the operation makes
    //              none.
    // Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED.
    injected({.name = "failed_allocation",
              .summary = "made up: one allocation by the driver fails",
              .kind = "driver_call",
              .provoke = [](world& w) { w.keep<failing_driver_call>("cuMemAlloc*", "OUT_OF_MEMORY"); }}),
    // What fails   With cuBLAS 13.1.0 on an H200: what launches a kernel. cudaLaunchKernelExC returns cudaErrorLaunchFailure, functions of cuBLAS
    //              EXECUTION_FAILED or INTERNAL_ERROR; cublasLtMatrixTransform returns SUCCESS with wrong numbers. Where the rule meets no
    //              launch in the operation, as in cudaGraphLaunch, the launch that fails is that of its proof.
    // Why          The driver refuses the next launch of a kernel, and the context stays usable.
    // Documented   cuBLAS documentation, CUBLAS_STATUS_EXECUTION_FAILED.
    injected({.name = "failed_launch",
              .summary = "made up: one launch of a kernel fails",
              .kind = "driver_call",
              .provoke = [](world& w) { w.keep<failing_driver_call>("cuLaunchKernel*", "LAUNCH_FAILED"); }}),
    // What fails   With cuBLAS 13.1.0 on an H200, first calls: cublasSgemmGroupedBatched (EXECUTION_FAILED) and cublasSetMatrixAsync
    //              (MAPPING_ERROR). cublasXtSgemm is unresolved: the process ends by SIGSEGV before the call. The 75 other operations work,
    //              cublasCreate among them. failed_create makes cublasCreate fail by a full device.
    // Why          Work that failed in a first attempt may never be repeated: the operation's handle is made afterwards.
    // Documented   Nowhere.
    injected({.name = "failed_create_by_a_call",
              .summary = "made up: a cublasCreate failed before by one driver call, an allocation",
              .kind = "failed_create",
              .before_operation = true,
              .provoke =
                  [](world&) {
                    const failing_driver_call now("cuMemAlloc*", "OUT_OF_MEMORY");
                    cublasHandle_t handle = nullptr;
                    if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
                      throw not_provoked("cublasCreate succeeded though an allocation failed");
                  }}),
    // What fails   With cuBLAS 13.1.0 on an H200: cublasCreate and cublasLtCreate, with INTERNAL_ERROR, so that most operations cannot be
    //              prepared. environment.missing_entry has other functions.
    // Why          The CUDA runtime in cuBLAS looks driver functions up by name, and finds at first use that one is missing.
    // Documented   CUDA Runtime API, cudaErrorCallRequiresNewerDriver (36). No driver is known that lacks only this.
    injected({.name = "driver_without_entry",
              .summary = "made up: as if the driver had no cuKernelGetFunction",
              .failures = {"F-ENV-09"},
              .kind = "driver",
              .environment = {{"CUFAULT_RULES", host_faults::hidden("cuKernelGetFunction")}}})};

}  // namespace
}  // namespace cufault
