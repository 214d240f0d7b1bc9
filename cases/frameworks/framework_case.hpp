// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Tables of the cases of Python frameworks. What an arm does is in python/framework_trials; here is its name, so that no interpreter is
// needed to list it.
#pragma once

#include "harness/injection/preloaded.hpp"
#include "harness/model/case.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
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

/// Variables of every arm of the case.
inline void in_environment(failure_case& c, const std::map<std::string, std::string>& environment) {
  for (arm& a : c.arms)
    for (const auto& [variable, value] : environment) a.environment[variable] = value;
}

/// The fault races with the operation that reports it, also in arms that do something afterwards.
inline void let_race(failure_case& c, const std::set<std::string>& operations, const std::string& why) {
  for (arm& a : c.arms) {
    if (!operations.contains(a.name.substr(0, a.name.find('+'))) || !a.against.empty()) continue;
    a.repeats = 5;
    a.races = why;
  }
}

/// Arms with the variables of the control are forked from one interpreter, which has imported the framework and not touched CUDA.
inline void fork_from_one_interpreter(failure_case& c) {
  for (arm& a : c.arms) a.shares_process = a.environment == c.arms.front().environment;
}

/// A driver call that fails while the operation runs: what framework_trials/injection.py has under the name.
struct injected_rule {
  const char *name, *summary;
};
inline constexpr std::array injected_rules{
    injected_rule{"memory", "the driver gives no device memory"},
    injected_rule{"memory_of_cublas", "the driver gives cuBLAS no device memory"},
    injected_rule{"memory_once", "one allocation of device memory fails"},
    injected_rule{"code", "the driver has no memory for code"},
    injected_rule{"code_of_cublaslt_once", "cuBLASLt cannot load code once"},
    injected_rule{"no_code_for_this_gpu", "code is of another GPU"},
    injected_rule{"launch_once", "one launch fails for want of resources"},
    injected_rule{"launch_of_cublas_once", "one launch of cuBLAS or cuBLASLt fails for want of resources"},
    injected_rule{"stream", "no stream can be made"},
    injected_rule{"event", "no event can be made"},
    injected_rule{"synchronisation_once", "one wait for a stream says that a launch failed"}};
inline constexpr std::array injected_rules_at_start{
    injected_rule{"no_device", "the driver finds no device"},
    injected_rule{"unknown_error", "the driver cannot begin, for a reason that it does not name"},
    injected_rule{"memory_of_context", "the device has no memory for a context"},
    injected_rule{"older_driver", "the driver says that it is of CUDA 11.8"}};

/// FAMILY.injected: operations of the framework with driver calls failed by libcufault.so, and once more with nothing failed.
inline failure_case injected(const std::string& family, const std::vector<std::string>& operations) {
  failure_case c{.name = family + ".injected",
                 .summary = "driver calls are made to fail while an operation runs",
                 .made_up = true};
  c.add_framework("control", arm_kind::control, "a first product, under the injector, with nothing failed");
  for (const std::string& operation : operations)
    for (const injected_rule& rule : injected_rules) {
      auto arms = fault_arms(c, fmt::format("{}.{}", operation, rule.name), rule.summary);
      if (operation == operations.front()) arms.remedy("retry", "do it again, with nothing failed");
    }
  for (arm& a : c.arms) under_injector(a);
  fork_from_one_interpreter(c);
  return c;
}

/// FAMILY.injected_at_start: likewise, from before the framework has begun.
inline failure_case injected_at_start(const std::string& family) {
  failure_case c{.name = family + ".injected_at_start",
                 .summary = "driver calls are made to fail while the framework begins",
                 .made_up = true};
  c.add_framework("control", arm_kind::control, "a first product, under the injector, with nothing failed");
  for (const injected_rule& rule : injected_rules_at_start)
    fault_arms(c, fmt::format("matmul.{}", rule.name), rule.summary)
        .remedy("new_process", "the same product in a new process");
  for (arm& a : c.arms) under_injector(a);
  fork_from_one_interpreter(c);
  return c;
}

/// What register_cases wants: all cases of a table, or the one that is named.
inline std::vector<failure_case> those_named(std::string_view only, std::vector<failure_case> all) {
  std::erase_if(all, [&](const failure_case& c) { return !only.empty() && c.name != only; });
  return all;
}

}  // namespace cufault
