// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/lexicon.hpp"
#include "reports/model/record.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// The tables of cases/explain.
const lexicon& known();

inline call_record example_call(const std::string& api, const std::string& status, bool after_remedy = false,
                                numbers_found numbers = numbers_found::unchecked) {
  return {.what = {.name = {.api = api},
                   .status = status,
                   .ok = status.ends_with("SUCCESS") || status == "cudaSuccess",
                   .numbers = numbers},
          .last_error = "cudaSuccess",
          .after_remedy = after_remedy};
}

inline arm_result example_arm(const std::string& name, arm_kind kind, std::vector<call_record> calls,
                              const std::string& context, const std::string& applied = "") {
  observation o;
  o.ended = outcome::completed;
  o.exit_code = 0;
  o.context = context;
  o.applied = applied;
  o.calls = std::move(calls);
  arm_result arm;
  arm.name = name;
  arm.kind = kind;
  arm.judged = verdict::unrecorded;
  arm.trials = {std::move(o)};
  return arm;
}

/// A stack with a device that is full, with its remedy, dead end and injected counterpart, and with an assertion of a kernel.
inline record example_stack(const std::string& cublas) {
  const char *alloc = "CUBLAS_STATUS_ALLOC_FAILED", *none = "CUBLAS_STATUS_NOT_INITIALIZED",
             *success = "CUBLAS_STATUS_SUCCESS";
  case_result memory{"memory.create_under_pressure", {}};
  memory.arms.push_back(example_arm("control", arm_kind::control,
                                    {example_call("cublasCreate", success),
                                     example_call("cublasSgemm", success, false, numbers_found::right)},
                                    "usable"));
  memory.arms.back().judged = verdict::ok;
  memory.arms.push_back(
      example_arm("held_here_lazy", arm_kind::fault, {example_call("cublasCreate", alloc)}, "usable"));
  memory.arms.push_back(
      example_arm("held_here_eager", arm_kind::fault, {example_call("cublasCreate", none)}, "usable"));
  memory.arms.push_back(
      example_arm("held_here_injected", arm_kind::fault, {example_call("cublasCreate", alloc)}, "usable"));
  memory.arms.back().counterpart_of = "held_here_lazy";
  memory.arms.push_back(
      example_arm("free_and_retry", arm_kind::remedy,
                  {example_call("cublasCreate", alloc), example_call("cublasCreate", success, true),
                   example_call("cublasSgemm", success, true, numbers_found::right)},
                  "usable", "free the memory"));
  memory.arms.push_back(
      example_arm("clear_last_error", arm_kind::dead_end,
                  {example_call("cublasCreate", alloc), example_call("cublasCreate", alloc, true)}, "usable",
                  "clear the last error"));
  case_result fault{"sticky.device_fault", {}};
  fault.arms.push_back(example_arm(
      "no_handle_assertion", arm_kind::fault,
      {example_call("cudaDeviceSynchronize", "cudaErrorAssert"), example_call("cublasCreate", none)},
      "damaged"));
  record r;
  *r.stack = {{"keys", {{"cublas", cublas}, {"driver", "580.159.04"}}},
              {"cublas", {{"version", cublas}}},
              {"driver", {{"version", "580.159.04"}}},
              {"gpu", {{"name", "NVIDIA H200"}}}};
  r.cases = {std::move(memory), std::move(fault)};
  r.complete = true;
  return r;
}

}  // namespace cufault
