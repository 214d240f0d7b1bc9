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

/// How long the error of a broken kernel needs at most to reach the program, with up to 8 jobs. Measured: reports/recorded/2026-11-26-arrival.txt.
inline std::chrono::milliseconds time_to_arrive(device_fault which) {
  using std::chrono::milliseconds;
  switch (which) {
    case device_fault::assertion:
      return milliseconds(300);
    case device_fault::illegal_address:
    case device_fault::misaligned_address:
      return milliseconds(1500);
    case device_fault::trap:
      break;
  }
  return milliseconds(3000);
}

/// A kernel of the program breaks. Racing: the operation follows the launch at once. Arrived: the time passes that the error needs, and nobody
/// looks: no call can tell that it arrived without becoming the first that returns it. Synchronised: the program waits for the device, and is told.
inline fault_type broken_by(device_fault which, std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .kind = "dead_context",
          .timings = {timing::racing, timing::arrived, timing::synchronised},
          .cells = isolation::lasting,
          .provoke = [which](world& w) {
            CUFAULT_REQUIRE(load_faults());
            CUFAULT_REQUIRE(cudaDeviceSynchronize());
            // Not required of it: what a launch returns that races with its own error is not what this is about.
            static_cast<void>(launch_fault(which));
            if (w.when() == timing::racing) return;
            if (w.when() == timing::arrived) {
              std::this_thread::sleep_for(time_to_arrive(which));
              return;
            }
            if (cudaDeviceSynchronize() == cudaSuccess)
              throw setup_failed("the kernel broke, and the wait for it succeeded");
          }};
}

}  // namespace cufault
