// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Code and libraries: how they are loaded, versions, GPUs of code; and errors that a refused launch leaves.
#include "cases/environment/other_code.hpp"
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <string>
#include <string_view>

namespace cufault {
namespace {

struct last_error_cleared_at_the_end {
  last_error_cleared_at_the_end() = default;
  last_error_cleared_at_the_end(const last_error_cleared_at_the_end&) = delete;
  last_error_cleared_at_the_end& operator=(const last_error_cleared_at_the_end&) = delete;
  ~last_error_cleared_at_the_end() { cudaGetLastError(); }
};

void load_mixture(world& w) {
  const cublas_paths ours = files_of(w.of_trial().libraries()), other = files_of(trial::other_libraries());
  const auto same = [](const std::string& one, const std::string& two) {
    constexpr std::size_t to_major = std::string_view("libcublasLt.so.13").size();
    return one.substr(0, to_major) == two.substr(0, to_major);
  };
  if (!same(ours.cublaslt.filename(), other.cublaslt.filename()))
    throw not_provoked("the second cuBLAS is of another major version");
  if (const load_result loaded = load_cublas({w.of_trial().libraries().cublas, other.cublaslt}); !loaded.ok())
    throw not_provoked("the loader refused the mixture: " + loaded.words);
}

const register_faults here{
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          CUDA_MODULE_LOADING=EAGER is recommended against failures of later loads.
    // Documented   CUDA Programming Guide, lazy loading.
    {.name = "eager_loading",
     .summary = "all code is loaded at once",
     .kind = "loading",
     .environment = {{"CUDA_MODULE_LOADING", "EAGER"}},
     .cells = isolation::undone},
    // What fails   By the documentation, code that is PTX alone. Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          The driver compiles no PTX.
    // Documented   CUDA Programming Guide, environment variables: CUDA_DISABLE_PTX_JIT.
    {.name = "ptx_forbidden",
     .summary = "the driver is told to compile no PTX",
     .kind = "code",
     .environment = {{"CUDA_DISABLE_PTX_JIT", "1"}},
     .cells = isolation::undone},
    // What fails   Code without PTX.
    // Why          The driver ignores machine code that it could run. A build of cufault without PTX then cannot open its context.
    // Documented   CUDA Programming Guide, environment variables: CUDA_FORCE_PTX_JIT.
    {.name = "ptx_forced",
     .summary = "the driver is told to compile PTX and to use no code as it is",
     .kind = "code",
     .environment = {{"CUDA_FORCE_PTX_JIT", "1"}},
     .cells = isolation::undone},
    // What fails   On an H200, cold, 13.1.0 with cuBLASLt 13.0.2: gemm but grouped, gemv, trsmBatched; with 13.7.0, 13.8.2, 13.10.0 none.
    // Why          cuBLAS asks for its cuBLASLt by name. The loader gives it the loaded one, which has the other version.
    // Documented   pytorch#91067, vllm#35608. Needs a second cuBLAS (CUFAULT_OTHER_CUBLAS) of the same major version.
    {.name = "mixed_pair",
     .summary = "cuBLAS with the cuBLASLt of another version",
     .kind = "pair",
     .before_operation = true,
     .arrange =
         [](arm& a) {
           a.other_cublas = true;
           a.binds_itself = a.kind != arm_kind::control;
         },
     .provoke = load_mixture},
    // What fails   Nothing that was tried, with cuBLAS 13.1.0 on an H200: later calls do not see the error. environment.wrong_code has the
    //              launch itself.
    // Why          A kernel of the program has machine code for another GPU only: its launch fails and leaves an error.
    // Documented   CUDA Programming Guide, binary compatibility; CUDA Runtime API, cudaErrorNoKernelImageForDevice (209).
    {.name = "foreign_code",
     .summary = "a kernel of the program is for another GPU, and nobody looked at the error of its launch",
     .kind = "last_error",
     .cells = isolation::undone,
     .provoke =
         [](world& w) {
           const code_library foreign(code_for_another);
           if (foreign.run().waited == cudaSuccess) throw not_provoked("this GPU runs the code");
           w.keep<last_error_cleared_at_the_end>();
         }},
    // What fails   Nothing by itself: the error stays as the runtime's last error.
    // Why          A launch with more threads than the kernel's registers allow is refused at once and damages nothing.
    // Documented   CUDA Runtime API, cudaErrorLaunchOutOfResources (701); cudaGetLastError.
    {.name = "refused_launch",
     .summary = "a launch of the program was refused, and nobody cleared the last error",
     .kind = "last_error",
     .cells = isolation::undone,
     .provoke = [](world& w) {
       if (launch_with_too_many_resources() == cudaSuccess) throw setup_failed("the launch was not refused");
       w.keep<last_error_cleared_at_the_end>();
     }}};

}  // namespace
}  // namespace cufault
