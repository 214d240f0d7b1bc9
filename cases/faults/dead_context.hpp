// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace cufault {

/// How long nobody looks with timing::arrived. On an H200 with 8 processes at a time that broke in the same way, errors needed up to 99 ms after an
/// assertion, 388 ms after an illegal address and 840 ms after a misaligned one. After a trap, 3 of 21 needed more than 3 s; where nothing else ran, a
/// trap needed 346 to 350 ms, so that cells with a trap have the GPU to themselves. All in reports/recorded/2026-11-26-arrival.txt.
/// With that, the first call of each of 213 cells after a trap took at most 132 ms (2026-11-27-own-processes.txt).
inline std::chrono::milliseconds wait_for_arrival(device_fault which) {
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

/// A kernel of the program breaks. Racing: the operation follows the launch at once. Arrived: wait_for_arrival() passes, and nobody looks: the
/// operation is to be the first call that can return the error. Synchronised: the program waits for the device, which returns the error.
inline fault_type broken_by(device_fault which, std::string name, std::string summary,
                            memory_class memory = memory_class::shared) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .kind = "dead_context",
          .timings = {timing::racing, timing::arrived, timing::synchronised},
          .cells = isolation::lasting,
          .memory = memory,
          .provoke = [which](world& w) {
            CUFAULT_REQUIRE(load_faults());
            CUFAULT_REQUIRE(cudaDeviceSynchronize());
            // Not required of it: what a launch returns that races with its own error is not what this is about.
            static_cast<void>(w.make({"cudaLaunchKernelExC", "fault"}, [&] { return launch_fault(which); }));
            if (w.has_failed() || w.when() == timing::racing) return;
            if (w.when() == timing::arrived) {
              std::this_thread::sleep_for(wait_for_arrival(which));
              return;
            }
            if (w.make({"cudaDeviceSynchronize"}, cudaDeviceSynchronize) == cudaSuccess)
              throw setup_failed("the kernel broke, and the wait for it succeeded");
          }};
}

}  // namespace cufault
