// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that are environment variables. Above each: who recommends it, and why it is expected to help.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

/// An empty value unsets the variable.
remedy_type by_variable(const std::string& name, std::vector<std::string> answers,
                        const std::string& variable, const std::string& value) {
  return {.name = name,
          .words = value.empty() ? "unset " + variable : variable + "=" + value,
          .answers = std::move(answers),
          .environment = {{variable, value}}};
}

const register_remedies here{
    // Threads of F-MEM-02 and F-LIF-08. Kernels are loaded with the library, not at the first call on a full device or during a capture.
    by_variable("eager_loading", {"memory", "pool", "capture"}, "CUDA_MODULE_LOADING", "EAGER"),
    // This project, to see whether eager loading alone makes the difference. Code is loaded only when it is called, so that the first
    // handle takes less memory.
    by_variable("lazy_loading", {"memory", "loading", "failed_create"}, "CUDA_MODULE_LOADING", "LAZY"),
    // This project, to see whether the variable alone makes the difference; S2-12 says that it may make memory short. cuBLAS then takes
    // a workspace of its default size.
    by_variable("no_workspace_variable", {"workspace"}, "CUBLAS_WORKSPACE_CONFIG", ""),
    // S2-12 says of the values below that they do not help.
    // PyTorch's documentation (CUDA environment variables) and threads of F-MEM-04. cuBLAS then takes no workspace.
    by_variable("workspace_0_0", {"memory", "capture"}, "CUBLAS_WORKSPACE_CONFIG", ":0:0"),
    // Threads of F-MEM-04; the cuBLAS documentation, for reproducible results. Eight buffers of 16 KiB take less memory than the default
    // workspace.
    by_variable("workspace_16_8", {"memory", "capture"}, "CUBLAS_WORKSPACE_CONFIG", ":16:8"),
    // This project: PyTorch's documentation has it as the default of PyTorch. 8320 KiB take less memory than the default workspace on
    // Hopper.
    by_variable("workspace_4096_2_16_8", {"memory", "capture"}, "CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8"),
    // This project: the cuBLAS documentation has it for reproducible results. Eight buffers of 4 MiB take less memory than the default
    // workspace of a handle on Hopper.
    by_variable("workspace_4096_8", {"memory", "capture"}, "CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
    // This project, to see whether one buffer of 8 KiB is enough. It takes less memory than the default workspace.
    by_variable("workspace_8_1", {"memory", "capture"}, "CUBLAS_WORKSPACE_CONFIG", ":8:1"),
    // This project, to see whether the variables alone make the difference. The driver then takes the libraries' machine code for the GPU, and
    // compiles PTX where there is none.
    {.name = "no_code_variables",
     .words = "unset CUDA_FORCE_PTX_JIT and CUDA_DISABLE_PTX_JIT",
     .answers = {"code"},
     .environment = {{"CUDA_FORCE_PTX_JIT", ""}, {"CUDA_DISABLE_PTX_JIT", ""}}},
    // Threads of F-STK-01, and messages of PyTorch about failed kernels. A diagnosis: the launch of the failing kernel returns its error
    // before cuBLAS is called.
    {.name = "blocking_launches",
     .words = "CUDA_LAUNCH_BLOCKING=1",
     .answers = {"dead_context"},
     .environment = {{"CUDA_LAUNCH_BLOCKING", "1"}},
     .diagnosis = true}};

}  // namespace
}  // namespace cufault
