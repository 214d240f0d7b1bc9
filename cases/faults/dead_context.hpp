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

/// A kernel of the program breaks. Racing: the operation follows the launch at once. Arrived: 300 ms pass, and nobody looks. The error may
/// need longer: after a trap, and with 12 jobs, cudaMalloc still succeeded (reports/recorded/2026-11-26-versions.txt). Synchronised: the program
/// waits for the device, and is told.
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
              std::this_thread::sleep_for(std::chrono::milliseconds(300));
              return;
            }
            if (cudaDeviceSynchronize() == cudaSuccess)
              throw setup_failed("the kernel broke, and the wait for it succeeded");
          }};
}

}  // namespace cufault
