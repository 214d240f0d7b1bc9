// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/process.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// A process that has called cuInit and waits until this object ends. While any process keeps the driver initialised, other processes start
/// and end faster (reports/pages/evidence/performance.md). It creates no context, but takes a few MB of each visible GPU.
class driver_hold {
 public:
  /// `command`: a program that initialises the driver, answers one line on its standard input, and waits for end of file. Returns after
  /// that answer. If it cannot be started, is late, or `stop` (-1 for none) becomes readable first, nothing is held and trials are slower.
  driver_hold(const std::vector<std::string>& command, int stop,
              std::chrono::milliseconds patience = std::chrono::seconds(10));
  [[nodiscard]] bool holds() const { return process_.has_value(); }

 private:
  std::optional<resident_process> process_;
};

}  // namespace cufault
