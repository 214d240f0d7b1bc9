// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/evidence/baselines.hpp"
#include "reports/model/results.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// Measurements that a gate compares, because a claim or a remedy rests on them. The others are kept and shown.
struct compared_measurement {
  const char* names;  ///< pattern of fnmatch(3)
  double
      band;  ///< how far below the least expected value, or above the greatest, it may be: by this part of it ...
  double slack;                ///< ... and by so much more, in its unit
  bool more_is_noted = false;  ///< a further one of the name is noted, and no difference
};
std::span<const compared_measurement> compared_measurements();

struct judgement {
  verdict v = verdict::unresolved;
  std::string why{};        ///< one line for verdicts that need one: before → now
  std::string noted{};      ///< what differs and is no failure, in one line
  loss lost = loss::value;  ///< of a change: by what was not seen before
};

/// What an arm came to, against what it showed before (nullptr: that is not known). Undefined behaviour is CHANGED where other arms are WORSENED.
judgement judgement_of(const arm_result& arm, const expectation* before);

/// Of an arm that races: both lists of trials are samples, and a signature that only one of them has may be rare. They differ if they share
/// no signature, or if a difference of a rate is less probable than `least`. Of `arm` its kind and what it says of races is read.
/// WORSENED is a rare crash, hang, damaged context or wrong number in an arm that says that it races. In one whose trials differ though
/// nothing says why (trials_differed), only what no busy machine makes: wrong numbers, memory written outside, a crash.
judgement judge_rates(const arm_result& arm, const std::vector<counted_signature>& now,
                      const expectation& before, double least);

/// Of an arm that a record of this stack judges: it came out otherwise. A run looks at it again before it says so.
bool is_change(verdict v);

/// Whether a control failed: without a working control a failure proves nothing.
bool control_failed(const case_result& c);

/// Judges one arm against what it showed on this stack (nullptr: that is not known, the arm is NEW). Fills judged, why, expectation,
/// compared_with, covered. Controls are judged by what they are: a control that fails is unresolved, whatever is expected. A remedy
/// or dead end before which nothing failed was not provoked: there was nothing to clear. Nor was one whose operation could not be prepared.
void judge_by(arm_result& arm, const expectation* expected);

/// Judges by the record of this stack or, where there is none, predicts from the nearest ones. Of a change it says in how many trials.
void judge(arm_result& arm, const reference* known);

/// Judges every arm of a case. When a control arm is unresolved, so is every arm of the case: without a working
/// control a failure proves nothing. Where a control could not be provoked, neither were the arms that had a context.
/// An arm against a fault arm that did not fail in this run was not provoked, nor one that shows nothing (why_it_shows_nothing()). A diagnosis
/// that names the call that fails without it still fails.
void judge(case_result& c, const baselines& recorded, const stack_keys& stack);

/// Why something does not exit with 0.
struct exit_reason {
  int exit_code = 0;
  std::string why{};
  std::vector<std::string> arms{};  ///< CASE/ARM: those that it is about
};
/// The code of the first: reasons stand worst first. 0 where there is none.
int exit_code(std::span<const exit_reason> reasons);

/// Worst first: 2 if any arm is unresolved, 1 in gate mode for any other unexpected verdict or for more than
/// `not_provoked_budget` arms that a record of this stack has and that were not provoked, 77 if no arm was
/// provoked, exit_no_baseline in gate mode if nothing failed and no record is of this stack. No arm at all is 2: a run in which nothing ran is not green. Arms that were not run since there is no GPU are
/// no failure, nor in the budget: who needs a GPU says so (CUFAULT_REQUIRE_GPU), and the run does not begin.
std::vector<exit_reason> exit_reasons(std::span<const case_result> cases, run_mode mode,
                                      int not_provoked_budget);

/// Of a gate that judged nothing, since no record is of this stack, and where an arm that its record lacks DIFFERS from the nearest one.
inline constexpr int exit_no_baseline = 3;

/// How many arms were predicted from other stacks, and what they came to.
struct predictions {
  bool of_this_stack = false;  ///< other arms are judged by records of this stack
  std::size_t as_predicted = 0, differ = 0, unrecorded = 0;
  std::map<std::string, std::size_t> from{};  ///< arms by the stack that they were predicted from
};
predictions predictions_of(std::span<const case_result> cases);
/// "no record of this stack: 231 of 242 arms as on H200, cuBLAS 13.1.0; 9 differ; 2 new". Empty where nothing was predicted.
std::string prediction_line(const predictions& p);
/// Whether no arm is judged by a record of this stack: of those that had a context or, where none had one, of all.
bool is_without_baseline(std::span<const case_result> cases);

/// Why there is no GPU, where the arm was not run for that; else empty.
std::string why_no_gpu(const arm_result& arm);

/// The cases of which an arm ran and can be compared; where there is a GPU, only if it did something there.
std::set<std::string> executed_cases(std::span<const case_result> cases, bool on_gpu);

}  // namespace cufault
