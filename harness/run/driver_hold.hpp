// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/process.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// A process that has called cuInit and waits until this object ends. While any process has the driver initialised, cuInit and the end of
/// other processes take less time (reports/pages/evidence/performance.md). It creates no context; each GPU that it sees has a few MB less free.
class driver_hold {
 public:
  /// `command`: a program that initialises the driver, answers a line on its standard input with one, and waits for its end. Returns when it
  /// has answered. Where it does not in time, cannot be started, or `stop` (-1 for none) becomes readable first, nothing is held, and trials
  /// are slower.
  driver_hold(const std::vector<std::string>& command, int stop,
              std::chrono::milliseconds patience = std::chrono::seconds(10));
  [[nodiscard]] bool holds() const { return process_.has_value(); }

 private:
  std::optional<resident_process> process_;
};

}  // namespace cufault
