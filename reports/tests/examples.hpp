// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/json_input.hpp"
#include "reports/judge.hpp"
#include "reports/observation.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault::examples {

inline constexpr auto success = "CUBLAS_STATUS_SUCCESS";
inline constexpr auto no_memory = "CUBLAS_STATUS_ALLOC_FAILED";
inline constexpr auto internal = "CUBLAS_STATUS_INTERNAL_ERROR";
inline constexpr auto right = "RIGHT_NUMBERS";
inline constexpr auto wrong = "WRONG_NUMBERS";

inline call_record call(std::string text, std::string status, bool after_remedy = false) {
  call_record c;
  c.text = std::move(text);
  c.status = std::move(status);
  c.after_remedy = after_remedy;
  return c;
}

/// A trial that came to its end: cublasCreate with each status in turn.
inline observation trial(std::initializer_list<const char*> statuses) {
  observation o;
  for (const auto* status : statuses) o.calls.push_back(call("cublasCreate(&handle)", status));
  o.ended = outcome::completed;
  o.context = "usable";
  return o;
}

/// The same, with a remedy between the statuses before and those after.
inline observation trial(std::initializer_list<const char*> before,
                         std::initializer_list<const char*> after) {
  auto o = trial(before);
  o.applied = "empty the pool";
  for (const auto* status : after) o.calls.push_back(call("cublasCreate(&handle)", status, true));
  return o;
}

inline observation crash(std::initializer_list<const char*> before,
                         std::string in = "cublasDestroy(handle)") {
  auto o = trial(before);
  o.ended = outcome::crashed;
  o.signal = 11;
  o.why = "SIGSEGV";
  o.in_flight = std::move(in);
  o.context = "none";
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

inline observation at_rung(std::int64_t rung, observation o) {
  o.rung = rung;
  return o;
}

inline arm_result arm(arm_kind kind, std::vector<observation> trials, std::string name = "arm") {
  arm_result a;
  a.name = std::move(name);
  a.kind = kind;
  a.trials = std::move(trials);
  return a;
}

/// The expectation that trials like these would be blessed to.
inline expectation expects(const std::vector<observation>& trials, std::string arm_name = "arm") {
  return {.case_name = "memory.leak",
          .arm = std::move(arm_name),
          .when = {},
          .signatures = signatures_of(trials),
          .flaky = std::nullopt,
          .record = "2026-11-21.json",
          .source = "memory.leak.json:4"};
}

inline json_cursor cursor(std::string_view text, std::string name = "x.json") {
  return json_cursor{parse_json(std::move(name), text)};
}

/// The message of the input_error that `read` throws; a message of its own if it throws none.
template <typename Read>
std::string refusal(Read read) {
  try {
    static_cast<void>(read());
  } catch (const input_error& e) {
    return e.what();
  }
  return "(nothing was refused)";
}

/// A directory of its own, gone with the test.
class in_directory : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (std::filesystem::temp_directory_path() / "cufault-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream{directory / name, std::ios::binary} << text;
    return directory / name;
  }

  std::filesystem::path directory;
};

}  // namespace cufault::examples
