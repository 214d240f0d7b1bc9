// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/cell_name.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/examples.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

/// Records of a matrix, made up for tests: no GPU returned anything of this.
namespace cufault::examples {

inline call_record step_call(std::string api, std::string variant, std::string_view status,
                             bool after = false) {
  call_record c = call(std::move(api), status, after);
  c.what.name.variant = std::move(variant);
  return c;
}

inline observation made(std::vector<call_record> calls, std::string context = "usable") {
  observation o;
  o.calls = std::move(calls);
  o.ended = outcome::completed;
  o.context = std::move(context);
  for (const call_record& c : o.calls)
    if (c.after_remedy) o.applied = "a remedy";
  return o;
}

inline observation died(std::vector<call_record> calls, const char* signal = "SIGSEGV") {
  observation o = made(std::move(calls), "none");
  o.ended = outcome::crashed;
  o.signal = 11;
  o.why = signal;
  return o;
}

inline arm_result cell_arm(const std::string& name, std::vector<observation> trials,
                           std::string against = {}) {
  const bool with_remedy = name.find('+') != std::string::npos;
  arm_result a = arm(with_remedy ? arm_kind::remedy : arm_kind::fault, std::move(trials), name);
  a.against = std::move(against);
  a.summary = "example of " + name;
  a.runs = {{.commit = "c0ffee", .started = "2026-11-22T00:00:00Z", .trials = a.trials.size()}};
  a.source = "example.jsonl:" + std::to_string(name.size());
  return a;
}

/// The control of a fault: both operations, cold and warm, with a fact that tells them apart.
inline arm_result matrix_control() {
  std::vector<call_record> calls;
  for (const char* variant : {"one_kernel", "split_k"})
    for (int i = 0; i < 2; ++i) {
      calls.push_back(step_call("cublasSgemm", variant, right));
      calls.back().what.facts = {{"workspace_used", std::string(variant) == "split_k"}};
    }
  arm_result a = arm(arm_kind::control, {made(calls)}, "control");
  a.judged = verdict::ok;
  return a;
}

inline record matrix_record(std::vector<case_result> cases, const char* cublas = "13.1.0",
                            const char* gpu = "NVIDIA H200") {
  record r;
  r.started = "2026-11-22T00:00:00Z";
  *r.stack = {{"gpu", {{"name", gpu}}}, {"keys", {{"cublas", cublas}, {"driver", "580.1"}}}};
  r.cases = std::move(cases);
  return r;
}

/// Two faults, two products and a creation: with conditions, a crash, a cell that races, one that was not provoked, and remedies.
inline std::vector<case_result> example_cases() {
  case_result trap{.name = "matrix.kernel_trap", .arms = {matrix_control()}};
  for (const std::string state : {"cold", "warm"})
    for (const std::string timing : {"arrived", "synchronised"}) {
      const std::string where = "." + state + "." + timing;
      trap.arms.push_back(cell_arm(
          "sgemm_64" + where,
          {made({step_call("cublasSgemm", "one_kernel", "CUBLAS_STATUS_EXECUTION_FAILED")}, "damaged")}));
      trap.arms.push_back(cell_arm("sgemm_split_k" + where,
                                   {made({step_call("cublasSgemm", "split_k", internal)}, "damaged")}));
      trap.arms.push_back(
          cell_arm("cublas_create" + where,
                   {made({step_call("cublasCreate", "", "CUBLAS_STATUS_NOT_INITIALIZED")}, "damaged")}));
      trap.arms.push_back(
          cell_arm("sgemm_64" + where + "+new_process",
                   {made({step_call("cublasSgemm", "one_kernel", "CUBLAS_STATUS_EXECUTION_FAILED"),
                          step_call("cublasSgemm", "one_kernel", right, true)})}));
      trap.arms.push_back(
          cell_arm("sgemm_64" + where + "+clear_error",
                   {made({step_call("cublasSgemm", "one_kernel", "CUBLAS_STATUS_EXECUTION_FAILED"),
                          step_call("cublasSgemm", "one_kernel", "CUBLAS_STATUS_EXECUTION_FAILED", true)},
                         "damaged")}));
    }
  trap.arms.push_back(
      cell_arm("sgemm_64.cold.racing",
               {made({step_call("cublasSgemm", "one_kernel", internal)}, "damaged"),
                made({step_call("cublasSgemm", "one_kernel", success),
                      step_call("cudaDeviceSynchronize", "after_operation", "cudaErrorLaunchFailure")},
                     "damaged"),
                made({step_call("cublasSgemm", "one_kernel", internal)}, "damaged")}));
  trap.arms.back().races = "the kernel breaks while the operation is made";

  case_result full{.name = "matrix.full_device", .arms = {matrix_control()}};
  for (const std::string state : {"cold", "warm"})
    for (const std::string level : {"0", "64"}) {
      const std::string where = "." + state + "." + level;
      const bool fails = level == "0";
      full.arms.push_back(
          cell_arm("sgemm_64" + where, {made({step_call("cublasSgemm", "one_kernel", right)})}));
      full.arms.push_back(cell_arm("sgemm_split_k" + where,
                                   {made({step_call("cublasSgemm", "split_k", fails ? no_memory : right)})}));
      full.arms.push_back(cell_arm("sgemm_split_k" + where + "+own_workspace",
                                   {made({step_call("cublasSgemm", "split_k", right)})},
                                   "sgemm_split_k" + where));
    }
  full.arms.push_back(cell_arm("cublas_create.cold.0", {died({step_call("cublasCreate", "", "")})}));
  full.arms.push_back(
      cell_arm("cublas_create.cold.64", {not_provoked("another process moved memory, by 2 MiB")}));
  return {trap, full};
}

}  // namespace cufault::examples
