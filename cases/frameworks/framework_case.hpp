// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Tables of the cases of Python frameworks. What an arm does is in python/framework_trials; here is its name, so that no interpreter is
// needed to list it.
#pragma once

#include "harness/injection/preloaded.hpp"
#include "harness/model/case.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  arms_of_fault& by_variable(const std::string& name, const std::string& variable, const std::string& value,
                             claim_ids claims = {}) {
    return from_the_start(name, variable + "=" + value, {{variable, value}}, std::move(claims));
  }
  /// Likewise, and said to show which call fails: the fault's own calls are steps, and the first that fails is the last.
  arms_of_fault& diagnosis(const std::string& name, const std::string& summary,
                           const std::map<std::string, std::string>& environment) {
    from_the_start(name, summary, environment);
    case_.arms.back().kind = arm_kind::diagnosis;
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

/// The same with a variable that is the fault.
inline arms_of_fault fault_of_variable(failure_case& of, std::string operation, const std::string& variable,
                                       const std::string& value, claim_ids claims = {}) {
  return fault_arms(of, std::move(operation), variable + "=" + value, std::move(claims))
      .with({{variable, value}});
}

/// Variables of every arm of the case.
inline void in_environment(failure_case& c, const std::map<std::string, std::string>& environment) {
  for (arm& a : c.arms)
    for (const auto& [variable, value] : environment) a.environment[variable] = value;
}

/// The outcome of an arm differs from process to process.
inline void let_vary(arm& a, const std::string& why) {
  a.repeats = 5;
  a.races = why;
  a.rate_depends_on_load = true;
}
inline void let_vary(failure_case& c, const std::string& arm_name, const std::string& why) {
  for (arm& a : c.arms)
    if (a.name == arm_name) let_vary(a, why);
}

/// The fault races with the operation that reports it, also in arms that do something afterwards.
inline void let_race(failure_case& c, const std::set<std::string>& operations, const std::string& why) {
  for (arm& a : c.arms)
    if (operations.contains(a.name.substr(0, a.name.find('+'))) && a.against.empty()) let_vary(a, why);
}

/// A process is forked after CUDA has begun.
inline failure_case forked_child(const std::string& family) {
  failure_case c{.name = family + ".forked_child",
                 .summary = "a process is forked after CUDA has begun",
                 .failures = {"F-LIF-02"}};
  c.add_framework("control", arm_kind::control, "a product without a fork");
  fault_arms(c, "matmul", "a product in the forked process")
      .remedy("spawn", "start the process by spawn")
      .from_the_start("fork_first", "CUDA begins in the forked process alone");
  return c;
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

/// A function of a library that fails while the operation runs; the name likewise.
using injected_rules_of = std::map<std::string, std::vector<injected_rule>>;  // by operation
inline const std::vector<injected_rule> create_rules{
    {"create_not_initialized", "cublasCreate returns NOT_INITIALIZED"},
    {"create_alloc_failed", "cublasCreate returns ALLOC_FAILED"},
    {"create_internal_error", "cublasCreate returns INTERNAL_ERROR"}};
inline const std::vector<injected_rule> product_rules{
    {"product_alloc_failed_once", "one product of cuBLAS returns ALLOC_FAILED"},
    {"product_execution_failed_once", "one product of cuBLAS returns EXECUTION_FAILED"},
    {"product_internal_error_once", "one product of cuBLAS returns INTERNAL_ERROR"},
    {"product_invalid_value_once", "one product of cuBLAS returns INVALID_VALUE"},
    {"product_not_supported_once", "one product of cuBLAS returns NOT_SUPPORTED"}};
inline const std::vector<injected_rule> lt_rules{
    {"lt_matmul_alloc_failed_once", "one cublasLtMatmul returns ALLOC_FAILED"},
    {"lt_matmul_execution_failed", "cublasLtMatmul returns EXECUTION_FAILED"},
    {"lt_matmul_execution_failed_once", "one cublasLtMatmul returns EXECUTION_FAILED"},
    {"lt_matmul_not_supported", "cublasLtMatmul returns NOT_SUPPORTED"},
    {"heuristic_alloc_failed_once", "one cublasLtMatmulAlgoGetHeuristic returns ALLOC_FAILED"},
    {"heuristic_not_supported", "cublasLtMatmulAlgoGetHeuristic returns NOT_SUPPORTED"}};

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
  return c;
}

/// FAMILY.injected_in_libraries: likewise with functions of cuBLAS, cuBLASLt and the CUDA runtime. Each operation has rules for what it calls.
inline failure_case injected_in_libraries(const std::string& family, const injected_rules_of& rules) {
  failure_case c{.name = family + ".injected_in_libraries",
                 .summary = "functions of libraries are made to fail while an operation runs",
                 .made_up = true};
  c.add_framework("control", arm_kind::control, "a first product, under the injector, with nothing failed");
  for (const auto& [operation, of_operation] : rules)
    for (const injected_rule& rule : of_operation)
      fault_arms(c, fmt::format("{}.{}", operation, rule.name), rule.summary)
          .remedy("retry", "do it again, with nothing failed");
  for (arm& a : c.arms) under_injector(a, {}, {"cublas", "cublasLt", "cudart"});
  return c;
}

/// The rules of several lists, for an operation that calls all of them.
inline std::vector<injected_rule> all_of(const std::vector<std::vector<injected_rule>>& lists) {
  std::vector<injected_rule> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// What register_cases wants: all cases of a table, or the one that is named. Arms with the variables of the control are forked from one
/// interpreter, which has imported the framework and not touched CUDA; not in cases that put another cuBLAS in front of the interpreter's.
inline std::vector<failure_case> those_named(std::string_view only, std::vector<failure_case> all) {
  std::erase_if(all, [&](const failure_case& c) { return !only.empty() && c.name != only; });
  for (failure_case& c : all)
    if (std::none_of(c.arms.begin(), c.arms.end(), [](const arm& a) { return a.other_cublas; }))
      for (arm& a : c.arms) a.shares_process = a.environment == c.arms.front().environment;
  return all;
}

}  // namespace cufault
