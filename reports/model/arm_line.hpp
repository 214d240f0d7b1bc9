// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// One arm is one line, in the record of a run and in the folder of a stack:
//   {"case": ..., "arm": ..., "expected": ..., "saw": ..., "run": ..., "kind": ..., ..., "trials": [...]}
// A run's record has neither "expected" nor "run". Lines depend on no other line.
#pragma once

#include "reports/model/results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace cufault {

class json_cursor;

nlohmann::ordered_json run_json(const run_of_trials& run);
run_of_trials run_from(const json_cursor& at);  ///< throws input_error

/// "saw": what the arm came to, for people; nothing reads it. At most 240 characters, and "...".
std::string saw(const arm_result& arm);

nlohmann::ordered_json arm_json(const std::string& case_name, const arm_result& arm);
/// As it is filed: trials name their runs by index into `runs`, to which those that it lacks are added.
nlohmann::ordered_json filed_arm_json(const std::string& case_name, const arm_result& arm,
                                      std::vector<run_of_trials>& runs);

/// A case with this one arm. Throws input_error.
case_result arm_from(const json_cursor& at);
case_result filed_arm_from(const json_cursor& at, const std::vector<run_of_trials>& runs);

}  // namespace cufault
