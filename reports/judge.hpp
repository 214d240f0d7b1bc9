// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/expectation.hpp"
#include "reports/observation.hpp"

#include <span>
#include <string>
#include <vector>

namespace cufault {

enum class verdict {
  ok,
  reproduced,
  cleared,
  still_fails,  // as expected
  flaky,        // as expected, at the stated rate
  changed,
  gone,
  worsened,
  remedy_broken,  // not as expected
  uncharted,
  not_provoked,
  unresolved
};

enum class run_mode { observe, gate };

/// An arm with what its trials saw.
struct arm_result {
  std::string name;
  arm_kind kind = arm_kind::fault;
  std::vector<std::string> claims;    ///< IDs of the claims it tests
  std::vector<std::string> failures;  ///< IDs of the field failures it shows
  std::string summary;                ///< one line: what this arm does
  std::vector<observation> trials;
  verdict judged = verdict::unresolved;
  std::string why;           ///< one line for verdicts that need one
  std::string expectation;   ///< "FILE:LINE" of the expectation it was judged by, if any
  bool covered = false;      ///< whether an expectation holds for it on this stack
  std::string against = {};  ///< the fault arm that a remedy in place from the start answers; else empty
  std::string races = {};    ///< why its outcome may differ from trial to trial; empty: it must not
  std::string twin_of = {};  ///< of an injected fault: the fault arm that has it for real
};

/// A signature that an arm's trials showed, and how many of them did.
struct counted_signature {
  signature seen;
  int trials = 0;
};

/// Each signature of the trials once, the most frequent first. Refined rungs count as in signatures_of().
std::vector<counted_signature> distinct_signatures(const std::vector<observation>& trials);

/// What an arm is compared by: its plateaus or, where it races, each signature once. Precondition as there.
std::vector<signature> arm_signatures(const arm_result& arm);
/// In one line; "13 of 20: ..." where it races.
std::string describe(const arm_result& arm);

struct case_result {
  std::string name;
  std::string summary;
  std::vector<arm_result> arms;
};

/// Judges one arm against an expectation (nullptr: none covers this stack). Fills judged, why, expectation,
/// covered. Controls are judged by what they are: a control that fails is unresolved, expectation or not. A remedy
/// or dead end before which nothing failed was not provoked: there was nothing to clear.
void judge(arm_result& arm, const expectation* expected);

/// Judges every arm of a case. When a control arm is unresolved, so is every arm of the case: without a working
/// control a failure proves nothing. Where a control could not be provoked, neither were the arms that had a context.
/// An arm against a fault arm that did not fail in this run was not provoked.
void judge(case_result& c, const expectation_set& expected, const stack_keys& stack);

/// Worst first: 2 if any arm is unresolved, 1 in gate mode for any other unexpected verdict or for more than
/// `not_provoked_budget` arms that an expectation covers and that were not provoked, 77 if no arm was
/// provoked, else 0. No arm at all is 2: a run in which nothing ran is not green.
int exit_code(std::span<const case_result> cases, run_mode mode, int not_provoked_budget);

/// True for a verdict that says "as expected".
bool as_expected(verdict v);

std::string to_string(verdict v);  ///< "REPRODUCED", ...
std::string to_string(run_mode m);
verdict verdict_from(const json_cursor& at);

}  // namespace cufault
