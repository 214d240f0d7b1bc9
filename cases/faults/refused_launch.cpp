// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing of itself: but the error stays as the runtime's last error.
// Why          A launch with more threads than the kernel's registers allow is refused at once and damages nothing.
// Documented   CUDA Runtime API, cudaErrorLaunchOutOfResources (701); cudaGetLastError.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

namespace cufault {
namespace {

struct cleared_at_the_end {
  cleared_at_the_end() = default;
  cleared_at_the_end(const cleared_at_the_end&) = delete;
  cleared_at_the_end& operator=(const cleared_at_the_end&) = delete;
  ~cleared_at_the_end() { cudaGetLastError(); }
};

const register_fault here{
    {.name = "refused_launch",
     .summary = "a launch of the program was refused, and nobody cleared the last error",
     .kind = "last_error",
     .cells = isolation::undone,
     .provoke = [](world& w) {
       if (launch_with_too_many_resources() == cudaSuccess) throw setup_failed("the launch was not refused");
       w.keep<cleared_at_the_end>();
     }}};

}  // namespace
}  // namespace cufault
