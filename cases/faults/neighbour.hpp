// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/neighbour.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace cufault {

/// Of kind "neighbour" (time-sliced), or "mps" under MPS.
inline fault_type beside_another_process(fault_type f) {
  f.under_mps = f.kind == "mps";
  f.takes_seconds = true;
  f.memory = memory_class::exclusive;
  return f;
}

/// A kernel of another process on the same GPU fails, and that process stays. Arrived: the neighbour got its error, and this process has
/// made no call since. Synchronised: this process has waited for the device, with whatever result.
inline fault_type beside_failing(device_fault which, fault_type f) {
  f = beside_another_process(std::move(f));
  if (f.under_mps) f.timings = {timing::arrived, timing::synchronised};
  f.cells = isolation::lasting;
  f.provoke = [which, under_mps = f.under_mps](world& w) {
    require_mps(under_mps);
    auto& other = w.keep<neighbour>(w.of_trial().device(), which);
    w.undo_by([&other] { other.end(); });
    w.of_trial().note("error of the neighbour", other.fail());
    if (w.when() == timing::synchronised) cudaDeviceSynchronize();
  };
  return f;
}

/// A kernel of another process occupies the GPU for neighbour::longest_hang_ms while the operation is made. A step records whether the
/// kernel still runs when the operation is complete: on a shared GPU it does. If the kernel has ended, two measured durations tell whether
/// the operation waited for it: then it took about as long as the kernel ran.
inline fault_type beside_hanging(fault_type f) {
  f = beside_another_process(std::move(f));
  f.around = [under_mps = f.under_mps](world& w, const std::function<void()>& operate) {
    require_mps(under_mps);
    auto& other = w.keep<neighbour>(w.of_trial().device(), std::nullopt);
    w.undo_by([&other] { other.end(); });
    w.of_trial().note("kernel of the neighbour", other.fail());
    const auto start = std::chrono::steady_clock::now();
    operate();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    std::optional<double> ended;
    observe_call({"check.neighbour"}, [&] {
      ended = other.ended_after_ms();
      return status_record{.status = ended ? "ENDED" : "HANGS"};
    });
    w.of_trial().measure("the operation took", taken.count(), "ms");
    if (ended) w.of_trial().measure("the kernel of the neighbour ran", *ended, "ms");
  };
  return f;
}

}  // namespace cufault
