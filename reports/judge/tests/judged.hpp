// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cufault::examples {

using trials = std::vector<observation>;

inline constexpr auto control = arm_kind::control;
inline constexpr auto fault = arm_kind::fault;
inline constexpr auto remedy = arm_kind::remedy;
inline constexpr auto dead_end = arm_kind::dead_end;

/// An arm of a recorded stack, by which others are judged.
inline arm_result expects(const trials& shown, std::string name = "arm") {
  arm_result a = arm(arm_kind::fault, shown, std::move(name));
  a.expected = true;
  a.source = "memory.jsonl:4";
  return a;
}

inline void judge_as(arm_result& a, const arm_result& shown) {
  const expectation e = expectation_of(shown, !shown.races.empty());
  judge_by(a, &e);
}

inline arm_result judged_arm(arm_kind kind, const trials& seen, const arm_result* shown = nullptr) {
  auto a = arm(kind, seen);
  if (shown != nullptr)
    judge_as(a, *shown);
  else
    judge_by(a, nullptr);
  return a;
}

inline verdict judged(arm_kind kind, const trials& expected, const trials& seen) {
  const arm_result shown = expects(expected);
  return judged_arm(kind, seen, &shown).judged;
}

}  // namespace cufault::examples
