// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/lexicon.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Statuses of what is no status of a library, as records and logs are compared by them.
inline constexpr const char *status_wrong_numbers = "WRONG_NUMBERS", *status_hang = "HANG";

/// A failure as a log tells it: a status, and the call that returned it where that is known.
struct failure_seen {
  std::string status, call;
  std::string kind{};  ///< lexicon::kind_of() its status, where looks of its kind count, too
  friend bool operator==(const failure_seen&, const failure_seen&) = default;
};

/// Trials by number, so that one in which several calls fail counts once. Not sorted.
using trial_numbers = std::vector<std::uint32_t>;
std::uint64_t distinct(trial_numbers trials);

/// That a cause made a call return a status: all trials of all stacks that show it.
struct recorded_failure {
  std::size_t cause = 0;  ///< index into lexicon::causes
  std::string call, status;
  bool natural = true;           ///< false: made up (is_made_up), or by a driver call that a sweep made fail
  bool by_driver = false;        ///< of `call` of the driver, inside one that returned its own status
  std::string framework{};       ///< framework_of()
  std::set<std::string> arms{};  ///< CASE/ARM; of a sweep its operation
  std::set<std::string> stacks{};  ///< stack_label()
  std::uint64_t injected = 0;      ///< made-up trials, or driver calls that sweeps made fail
  trial_numbers trials{};          ///< without those of sweeps
  /// What a check would have come out as, and in which trials: "last_error" -> "cudaErrorAssert" -> 12, 13.
  std::map<std::string, std::map<std::string, trial_numbers>> observed{};
  friend bool operator==(const recorded_failure&, const recorded_failure&) = default;
};

/// What a log would name: of a framework's function the call that the text of its exception names, if it does.
std::string call_in_log(const call_record& call);
/// The framework that an arm runs in, as `explain` names it in its facts: "PyTorch"; empty: none.
std::string framework_of(std::string_view arm);

/// A remedy or dead end, and what came of it.
struct recorded_remedy {
  std::string arm;                                  ///< CASE/ARM
  std::string words;                                ///< what was done
  std::set<std::string> answers{};                  ///< the arm that it is against
  std::vector<failure_seen> failures{};             ///< that were there before it
  std::set<std::string> cleared_on{}, failed_on{};  ///< stack_label()
  friend bool operator==(const recorded_remedy&, const recorded_remedy&) = default;
};

/// All that records say to `explain`. Arms that observed nothing say nothing, nor do those of a case whose control is unresolved.
struct evidence {
  std::vector<recorded_failure> failures;
  std::vector<recorded_remedy> remedies;
  std::vector<std::string> unassigned;  ///< fault arms of no cause: the tables are not complete
  friend bool operator==(const evidence&, const evidence&) = default;
};

/// A copy of a record counts once. Precondition: the records are judged.
evidence evidence_in(std::span<const record> records, const lexicon& known);

/// The cause that names the arm or, of a cell, its fault; of an injected counterpart that of its natural arm. Index into lexicon::causes.
std::optional<std::size_t> cause_of_arm(const lexicon& known, const std::string& case_name,
                                        const arm_result& arm);

/// How many different sources the catalogue of field failures names for each cause, in the order of lexicon::causes.
std::vector<std::size_t> reports_of_causes(const std::vector<field_failure>& catalogue, const lexicon& known);

/// How well a recorded or documented failure fits one of a log: 0 not at all, 1 the status alone, 2 where the log or the document
/// names no call, 3 the status and the call, or another one of its family: a product, the creation of a handle.
int fit(const failure_seen& of_log, std::string_view status, std::string_view call);
int fit(const failure_seen& of_log, const failure_pattern& pattern);

}  // namespace cufault
