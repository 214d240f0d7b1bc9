// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Whatever is done in the context behind it.
// Why          The error belongs to the context and stays; it arrives when the kernel runs, not when it is launched.
// Documented   CUDA Runtime API, cudaErrorLaunchFailure (719): the process must be terminated and relaunched.
#include "cases/faults/dead_context.hpp"

namespace cufault {
namespace {

const register_fault here{
    broken_by(device_fault::trap, "kernel_trap", "a kernel of the program traps", memory_class::exclusive)};

}  // namespace
}  // namespace cufault
