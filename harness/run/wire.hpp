// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/run/shared_process.hpp"
#include "reports/model/observation.hpp"

#include <string>
#include <vector>

namespace cufault {

/// What a lane tells of the arms that it was asked for, in their order: all that the trials of each saw, and which processes they shared.
struct lane_report {
  std::vector<std::vector<observation>> arms;
  shared_process::counts shared;
};
std::string to_wire(const lane_report& report);         ///< JSON
lane_report report_from_wire(const std::string& text);  ///< throws input_error

}  // namespace cufault
