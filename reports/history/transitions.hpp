// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How an arm of one release differs from the same arm of another, by its calls.
#pragma once

#include "reports/history/changes.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace cufault {

/// Behind the remedy or before it, function, variant, and which of several in the trial.
using call_name = std::tuple<bool, std::string, std::string, int>;

/// Calls of an arm that changed alike.
struct transition {
  harm how = harm::other;
  bool severe = false;  ///< wrong numbers, a crash or a hang, before or now
  std::string from{}, to{};
  std::string what{},
      detail{};  ///< of what is no status: "values", "device memory per handle: 268575266 → 67242016"
  std::map<std::string, std::size_t> calls{};  ///< by function
  std::set<call_name> names{};
  step_name first{};
};

/// Names of the facts that any call of the case recorded.
std::set<std::string> facts_recorded_by(const case_result& c);

/// Removes what came before a remedy: the fault arm shows it, too. Control and fault arms stay as they are. False: nothing is left.
bool keep_what_came_after(arm_result& arm);

struct arm_change {
  std::vector<transition> transitions{};  ///< empty: equal, or different by cufault alone
  bool differs = false;  ///< by compare_arms(), before what one release alone made is left out
  std::string why{};     ///< of compare_arms()
};
/// `facts_before`, `facts_now`: facts_recorded_by() of the arm's case. Precondition: both arms were observed.
arm_change change_of_arm(const arm_result& before, const std::set<std::string>& facts_before,
                         const arm_result& now, const std::set<std::string>& facts_now);

}  // namespace cufault
