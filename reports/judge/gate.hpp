// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

class json_cursor;

/// A change that somebody has looked at and lets pass for a while.
struct allowance {
  std::string arm;  ///< CASE/ARM, where * is anything
  change what = change::changed;
  std::string reason;    ///< never empty
  std::string expires;   ///< the last day on which it holds, UTC: "2026-12-31"
  std::string source{};  ///< "FILE:LINE"
};

/// {"schema": 1, "allowances": [{"arm": ..., "change": ..., "reason": ..., "expires": ...}]}: reports/schemas/allowances.schema.json.
/// Throws input_error.
std::vector<allowance> load_allowances(const std::filesystem::path& file);
std::vector<allowance> allowances_from(const json_cursor& top);
bool is_date(const std::string& text);  ///< "2026-12-31", a day that there is

struct gated_arm {
  std::string case_name, arm;
  arm_change found;
  std::string summary{};          ///< what it does, in words; empty where the record does not say
  std::string before{}, after{};  ///< what each record saw, in one line; empty where it has no such arm
  std::optional<allowance> allowed_by{};  ///< of an arm that would fail the gate
};

/// What a gate finds from a baseline to a candidate.
struct gate_report {
  std::string baseline, candidate;  ///< stack_label() of each
  std::vector<stack_difference> stacks{};
  std::vector<gated_arm> arms{};           ///< by name; without those that neither observed
  std::size_t unobserved = 0;              ///< arms that neither observed
  std::size_t executed = 0, at_least = 0;  ///< cases of the candidate that were executed; how many must be
  std::vector<allowance> expired{}, unused{};
  std::vector<std::string> unread{};      ///< a line for each file that could not be read
  std::vector<std::string> incomplete{};  ///< runs that did not come to their end: "--baseline a.jsonl"
};

struct gate_terms {
  std::vector<allowance> allowances{};
  std::string today{};       ///< UTC, "2026-11-22"
  std::size_t at_least = 1;  ///< cases that must have been executed
};

/// An arm of a case whose control failed proves nothing: in the baseline it is not observed, in the candidate unresolved.
gate_report compare(record baseline, record candidate, const gate_terms& terms);

/// Whether a gate fails on it: all but unchanged and new.
bool fails_gate(change c);
/// Worst first: 2 where anything is unresolved, could not be read, did not come to its end, or nothing could be compared; 1 where an arm
/// fails the gate that no allowance covers, or fewer cases were executed than must be.
std::vector<exit_reason> exit_reasons(const gate_report& report);

}  // namespace cufault
