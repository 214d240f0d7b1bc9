// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/observation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How a claim is judged from what trials observed. The rules are data beside the claims (cases/claims.json):
///
///   {"arms": ["CASE/ARM", ...], "when": CONDITION, "holds": CONDITION, "why": [GLOB, ...]}
///   {"arms": ["CASE/ARM", ...], "when": CONDITION, "of": NUMBER, "hold": NUMBER, "why": [GLOB, ...]}
///
/// Of each trial of these arms in which `when` is true, or is left out, the first kind makes one statement, whether `holds` is true. The
/// second kind says how many of several calls or measured ones are as claimed: all of them (it holds), none (it does not), or some
/// (one statement of each). `why` names measurements and notes to show beside what decided.
///
/// CONDITION, which is true, false or unknown:
///   {"all": [CONDITION, ...]}, {"any": [CONDITION, ...]}, {"not": CONDITION}
///   {"step": STEP}                      a step came to it; unknown where there is no such step, or it never returned
///   NUMBER with "op" and "value"        {"measurement": "rows", "op": ">", "value": NUMBER}; op: = != < <= > >=
///   {"measured": GLOB}                  there is such a measurement
///   {"note": GLOB, "contains": TEXT}    such a note has the text; unknown where there is no such note
///   {"logged": TEXT}                    a line that the library logged has the text
///   {"printed": TEXT}                   what the process printed on standard error has the text
///   {"ended": "crashed"}                how the process ended: completed, crashed, timed_out
/// STEP:   {"api": GLOB, "variant": GLOB, "part": "fault" or "after", "code": what a row of a sweep failed with,
///          "which": "any", "all", "first" or "last" of the steps so named;
///          "status": GLOB, "ok": BOOL, "numbers": "right", "wrong" or "unchecked"}
/// NUMBER: 12, or {"measurement": NAME}, {"sum": GLOB} and {"largest": GLOB} of measurements, {"count": STEP}, {"level": true}, each with
///         "times": 2 if need be. Unknown where it was not measured; the sum of none is 0.
/// GLOB:   a text with * and ?, or a list of them, of which one has to fit; "!told*" fits all but that.
///
/// Where `holds`, `of` or `hold` is unknown, the trial says nothing.
namespace cufault {

class json_cursor;

namespace claim_rule_parts {

using globs = std::vector<std::string>;

struct step_pattern {
  enum class which { any, all, first, last };
  globs api{}, variant{}, status{};  ///< empty: whatever it is
  std::optional<bool> after{};       ///< in the part after the remedy
  std::string code{};
  which of_these = which::any;
  std::optional<bool> ok{};
  std::optional<numbers_found> numbers{};
};

struct number {
  enum class kind { literal, measurement, sum, largest, count, level };
  kind what = kind::literal;
  double value = 0;  ///< of a literal
  globs names{};     ///< of measurements
  step_pattern counted{};
  double times = 1;
};

struct condition {
  enum class kind { all, any, negation, step, comparison, measured, note, logged, printed, ended };
  kind what = kind::all;
  std::vector<condition> parts{};
  step_pattern step{};
  number left{}, right{};
  std::string op{};
  globs names{};       ///< of measurements or notes
  std::string text{};  ///< that is contained
  outcome ended = outcome::completed;
};

}  // namespace claim_rule_parts

struct claim_rule {
  claim_rule_parts::globs arms{};
  std::optional<claim_rule_parts::condition> when{}, holds{};
  claim_rule_parts::number of{}, hold{};  ///< without `holds`
  claim_rule_parts::globs why{};
};

/// Throws input_error with file and line: for keys, steps' names and operators that there are not, and for a rule that could never speak.
claim_rule claim_rule_from(const json_cursor& at);

bool is_about(const claim_rule& rule, std::string_view case_name, std::string_view arm);

/// What one trial says of a claim.
struct claim_statement {
  bool holds = false;
  std::string why;  ///< one line: the steps, figures and texts that decided
  friend bool operator==(const claim_statement&, const claim_statement&) = default;
};
std::vector<claim_statement> statements_of(const claim_rule& rule, const observation& trial);

}  // namespace cufault
