// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// A kernel of the program fails. Everything done later in the context fails, since the error stays in the context. It arrives when the
// kernel runs, not at its launch.
// Documented   CUDA Runtime API, for each error: the process must be terminated and relaunched.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <chrono>
#include <thread>

namespace cufault {
namespace {

/// Waiting time of timing::arrived. On an H200 with 8 such processes at a time, errors arrived within 99 ms after an assertion and 388 ms
/// after an illegal address, 840 ms after a misaligned one. After a trap 3 of 21 took more than 3 s. With nothing else on the GPU a trap
/// took 346 to 350 ms, so cells with a trap have the GPU alone. All in reports/recorded/2026-11-26-arrival.txt. The first call of each of
/// 213 such cells then took at most 132 ms (2026-11-27-own-processes.txt).
std::chrono::milliseconds wait_for_arrival(device_fault which) {
  using std::chrono::milliseconds;
  switch (which) {
    case device_fault::assertion:
      return milliseconds(300);
    case device_fault::illegal_address:
    case device_fault::misaligned_address:
      return milliseconds(1500);
    case device_fault::trap:
      return milliseconds(1000);
  }
  return {};
}

/// Racing: the operation directly follows the launch. Arrived: wait_for_arrival() passes without any call, so that the operation is the
/// first that can return the error. Synchronised: the program waits for the device, which returns the error.
fault_type fault_by_kernel(device_fault which, fault_type f) {
  f.kind = "dead_context";
  f.timings = {timing::racing, timing::arrived, timing::synchronised};
  f.cells = isolation::lasting;
  f.provoke = [which](world& w) {
    CUFAULT_REQUIRE(load_faults());
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    // Need not succeed: the launch may race with its own error.
    static_cast<void>(w.make({"cudaLaunchKernelExC", "fault"}, [&] { return launch_fault(which); }));
    if (w.has_failed() || w.when() == timing::racing) return;
    if (w.when() == timing::arrived) {
      std::this_thread::sleep_for(wait_for_arrival(which));
      return;
    }
    if (w.make({"cudaDeviceSynchronize"}, cudaDeviceSynchronize) == cudaSuccess)
      throw setup_failed("the kernel broke, and the wait for it succeeded");
  };
  return f;
}

const register_faults here{
    // cudaErrorAssert (710).
    fault_by_kernel(device_fault::assertion,
                    {.name = "kernel_assertion", .summary = "an assertion in a kernel of the program fails"}),
    // cudaErrorIllegalAddress (700).
    fault_by_kernel(device_fault::illegal_address,
                    {.name = "kernel_illegal_address",
                     .summary = "a kernel of the program stores outside of every allocation"}),
    // cudaErrorMisalignedAddress (716).
    fault_by_kernel(device_fault::misaligned_address,
                    {.name = "kernel_misaligned_address",
                     .summary = "a kernel of the program reads a vector at an odd address"}),
    // cudaErrorLaunchFailure (719).
    fault_by_kernel(device_fault::trap, {.name = "kernel_trap",
                                         .summary = "a kernel of the program traps",
                                         .memory = memory_class::exclusive})};

}  // namespace
}  // namespace cufault
