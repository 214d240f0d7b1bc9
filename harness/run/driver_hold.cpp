// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/driver_hold.hpp"

#include <system_error>

namespace cufault {

driver_hold::driver_hold(const std::vector<std::string>& command, int stop,
                         std::chrono::milliseconds patience) {
  spawn_options options;
  options.argv = command;
  try {
    process_.emplace(options);
    if (!process_->ask("hold", patience, {}, stop).answered) process_.reset();
  } catch (const std::system_error&) {
    process_.reset();
  }
}

}  // namespace cufault
