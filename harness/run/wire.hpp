// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/run/shared_process.hpp"
#include "reports/model/observation.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// What a lane is asked: to run a job, by its number, on a GPU, by its place among those of the run; without a job, to leave the GPUs,
/// because another lane wants one to itself.
struct lane_request {
  std::optional<std::size_t> job{}, gpu{};
};
std::string request_of_job(std::size_t job, std::optional<std::size_t> gpu);
std::string request_to_leave_gpu();
lane_request request_from_wire(const std::string& text);  ///< throws input_error

/// What a lane tells of the arms that it was asked for, in their order: all that the trials of each saw, and which processes they shared.
struct lane_report {
  std::vector<std::vector<observation>> arms;
  shared_process::counts shared;
};
std::string to_wire(const lane_report& report);         ///< JSON
lane_report report_from_wire(const std::string& text);  ///< throws input_error

}  // namespace cufault
