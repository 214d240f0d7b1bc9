// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"

#include <vector>

namespace cufault::examples {

using trials = std::vector<observation>;

inline constexpr auto control = arm_kind::control;
inline constexpr auto fault = arm_kind::fault;
inline constexpr auto remedy = arm_kind::remedy;
inline constexpr auto dead_end = arm_kind::dead_end;

inline verdict judged(arm_kind kind, const trials& expected, const trials& seen) {
  auto a = arm(kind, seen);
  const auto e = expects(expected);
  judge(a, &e);
  return a.judged;
}

inline arm_result judged_arm(arm_kind kind, const trials& seen, const expectation* e = nullptr) {
  auto a = arm(kind, seen);
  judge(a, e);
  return a;
}

}  // namespace cufault::examples
