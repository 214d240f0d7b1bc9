// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/tests/input_examples.hpp"
#include "reports/model/observation.hpp"
#include "reports/model/results.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault::examples {

inline constexpr auto success = "CUBLAS_STATUS_SUCCESS";
inline constexpr auto no_memory = "CUBLAS_STATUS_ALLOC_FAILED";
inline constexpr auto internal = "CUBLAS_STATUS_INTERNAL_ERROR";
/// Stand for SUCCESS, with numbers that were looked at.
inline constexpr auto right = "RIGHT_NUMBERS";
inline constexpr auto wrong = "WRONG_NUMBERS";

/// A call of `api` that came to `status`; "" has not returned.
inline call_record call(std::string api, std::string_view status, bool after_remedy = false) {
  call_record c;
  c.what.name.api = std::move(api);
  c.what.numbers = status == right   ? numbers_found::right
                   : status == wrong ? numbers_found::wrong
                                     : numbers_found::unchecked;
  c.what.status = c.what.numbers == numbers_found::unchecked ? status : success;
  c.what.ok = status == right || status == success || status == "cudaSuccess";
  c.after_remedy = after_remedy;
  return c;
}

inline step step_of(std::string api, std::string_view status) {
  return call(std::move(api), status).what;
}

/// A trial that came to its end: cublasCreate with each status in turn.
inline observation trial(std::initializer_list<const char*> statuses) {
  observation o;
  for (const auto* status : statuses) o.calls.push_back(call("cublasCreate", status));
  o.ended = outcome::completed;
  o.context = "usable";
  return o;
}

/// The same, with a remedy between the statuses before and those after.
inline observation trial(std::initializer_list<const char*> before,
                         std::initializer_list<const char*> after) {
  auto o = trial(before);
  o.applied = "empty the pool";
  for (const auto* status : after) o.calls.push_back(call("cublasCreate", status, true));
  return o;
}

/// Ended by a signal in `in`; between calls where that is empty.
inline observation crash(std::initializer_list<const char*> before, const std::string& in = "cublasDestroy") {
  auto o = trial(before);
  o.ended = outcome::crashed;
  o.signal = 11;
  o.why = "SIGSEGV";
  if (!in.empty()) o.calls.push_back(call(in, ""));
  o.context = "none";
  return o;
}

/// Hung in `in`; between calls where that is empty.
inline observation hang(std::initializer_list<const char*> before, const std::string& in = "cublasCreate") {
  auto o = trial(before);
  o.ended = outcome::timed_out;
  if (!in.empty()) o.calls.push_back(call(in, ""));
  return o;
}

inline observation not_provoked(std::string why) {
  observation o;
  o.ended = outcome::not_provoked;
  o.why = std::move(why);
  return o;
}

inline observation harness_failed(std::string why) {
  observation o;
  o.ended = outcome::harness_failed;
  o.why = std::move(why);
  return o;
}

inline observation at_level(std::int64_t level, observation o) {
  o.level = level;
  return o;
}

/// At a level between the stated ones.
inline observation refined_at(std::int64_t level, observation o) {
  o.level = level;
  o.refined = true;
  return o;
}

inline arm_result arm(arm_kind kind, std::vector<observation> trials, std::string name = "arm") {
  arm_result a;
  a.name = std::move(name);
  a.kind = kind;
  a.trials = std::move(trials);
  return a;
}

}  // namespace cufault::examples
