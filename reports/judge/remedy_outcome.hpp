// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/results.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// A remedy or dead end as the trials of one record show it.
struct remedy_outcome {
  std::string words;                       ///< what was done
  std::vector<const call_record*> before;  ///< observed calls that were made before it; into the arm's trials
  std::string against;  ///< CASE/ARM that it answers, where it is in place from the start; else empty
  /// In every trial: all that was done after it succeeded, and where that was work on a GPU, with right numbers.
  bool cleared = false;
};

/// Why it neither clears nor fails, although its trials were made: what it acts on was not reached, or its fault was not there. Empty: neither.
std::string why_it_shows_nothing(const std::string& case_name, const arm_result& arm);

/// nullopt: the arm is no remedy or dead end, it was not provoked, its fault is injected, no trial can be compared, or nothing could have failed before it.
std::optional<remedy_outcome> remedy_outcome_of(const case_result& c, const arm_result& arm);

}  // namespace cufault
