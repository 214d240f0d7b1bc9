// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/bisection.hpp"
#include "reports/judge/judge.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace cufault {

/// What one release came to.
struct tried_release {
  std::string name{}, version{}, build_id{};  ///< build id of libcublas; empty where it is not known
  std::string result{};                       ///< "good", "bad", "other", "undecided", "skipped"
  outcome_counts outcomes{};
  std::string why{};  ///< of one that is skipped or undecided
  double seconds = 0;
};

/// Between two neighbours, or with releases between them that say nothing.
struct found_change {
  bool mended = false;
  std::string good{}, bad{};
  std::vector<std::string> between{};
  std::size_t decisions = 0;  ///< that the answer rests on, the ends' comparison included
};

/// All that a bisection came to: for the ticket.
struct bisection_report {
  std::string cufault{};  ///< version and commit
  std::string what{};     ///< CASE/ARM, or the command as words of a shell
  bool is_arm = false;
  std::string from{};  ///< where the releases are from
  std::string gpu{}, driver{}, runtime{};
  bool once = false;  ///< one trial decides: no error is stated
  double error = 0;   ///< of each decision
  std::vector<tried_release> releases{};
  std::vector<found_change> changes{};
  std::string repeat{};                ///< commands that repeat it
  std::vector<exit_reason> reasons{};  ///< of a search that ended early: why
};

/// "exit 3", or "5: exit 3 | 1: exit 0": the most frequent first.
std::string words_of(const outcome_counts& counts);
void print_bisection(std::ostream& out, const bisection_report& report, table_style style);
nlohmann::json to_json(const bisection_report& report);  ///< reports/schemas/bisection.schema.json

}  // namespace cufault
