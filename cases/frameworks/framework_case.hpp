// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Tables of the cases of Python frameworks. What an arm does is in python/framework_trials; here is its name, so that no interpreter is
// needed to list it.
#pragma once

#include "harness/model/case.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

using claim_ids = std::vector<std::string>;

/// An operation under the fault of a case, and what is done against it. Each arm is OPERATION, or OPERATION+REMEDY.
class arms_of_fault {
 public:
  arms_of_fault(failure_case& of, std::string operation, const std::string& summary, claim_ids claims)
      : case_(of), operation_(std::move(operation)) {
    case_.add_framework(operation_, arm_kind::fault, summary, std::move(claims));
  }
  /// Done after the failure; then the operation once more.
  arms_of_fault& remedy(const std::string& name, const std::string& summary, claim_ids claims = {}) {
    case_.add_framework(operation_ + "+" + name, arm_kind::remedy, summary, std::move(claims));
    return *this;
  }
  /// Likewise, and said not to help.
  arms_of_fault& dead_end(const std::string& name, const std::string& summary, claim_ids claims = {}) {
    case_.add_framework(operation_ + "+" + name, arm_kind::dead_end, summary, std::move(claims));
    return *this;
  }
  /// In place before the fault, by a variable where there is one.
  arms_of_fault& from_the_start(const std::string& name, const std::string& summary,
                                const std::map<std::string, std::string>& environment = {},
                                claim_ids claims = {}) {
    arm& a = case_.add_framework(operation_ + "+" + name, arm_kind::remedy, summary, std::move(claims));
    a.against = operation_;
    for (const auto& [variable, value] : environment) a.environment[variable] = value;
    return *this;
  }
  /// Variables of the fault itself.
  arms_of_fault& with(const std::map<std::string, std::string>& environment) {
    for (arm& a : case_.arms)
      if (a.name == operation_)
        for (const auto& [variable, value] : environment) a.environment[variable] = value;
    return *this;
  }

 private:
  failure_case& case_;
  std::string operation_;
};

/// Adds the arm OPERATION to the case. What is done against it is added to what this returns.
inline arms_of_fault fault_arms(failure_case& of, std::string operation, const std::string& summary,
                                claim_ids claims = {}) {
  return {of, std::move(operation), summary, std::move(claims)};
}

/// Arms without variables of their own are forked from one interpreter, which has imported the framework and not touched CUDA.
inline void fork_from_one_interpreter(failure_case& c) {
  const auto usual = failure_case{}.add("usual", arm_kind::control, {}, {}).environment;
  for (arm& a : c.arms) a.shares_process = a.environment == usual;
}

/// What register_cases wants: all cases of a table, or the one that is named.
inline std::vector<failure_case> those_named(std::string_view only, std::vector<failure_case> all) {
  std::erase_if(all, [&](const failure_case& c) { return !only.empty() && c.name != only; });
  return all;
}

}  // namespace cufault
