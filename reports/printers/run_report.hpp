// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// What a test of the formats for CI is.
enum class test_status {
  passed,
  failed,   ///< differs from what a record of this stack shows
  error,    ///< unresolved
  skipped,  ///< could not be provoked; what no record of this stack judges
};

struct report_arm {
  std::string case_name{}, arm{}, kind{};
  bool made_up = false;
  std::string cost{};  ///< "costs 3.0 %; 64 MiB", of a remedy that cleared, where it was measured; else empty
  verdict judged = verdict::unresolved;
  loss lost = loss::value;
  test_status status = test_status::error;
  std::string why{}, seen{};
  std::string expectation{};  ///< "FILE:LINE"; empty where none covers this stack
  std::string repeat{};       ///< a command
  double seconds = 0;
  std::string no_gpu{};  ///< why there is no GPU, where it was not run for that; else empty
  std::string source{};  ///< "FILE:LINE" of its observations; empty where they are not in a file
  std::size_t runs = 0,
              otherwise = 0;  ///< of a report over several runs: that observed it, and came to something else
};

/// A judged run as every printer shows it: the summary as text, Markdown and JSON, JUnit XML, CTRF.
struct run_report {
  std::string stack{}, version{};
  std::string started{}, ended{};          ///< UTC, "2026-11-21T07:27:40Z"
  std::int64_t start_ms = 0, stop_ms = 0;  ///< since 1970
  run_mode mode = run_mode::observe;
  std::uint64_t seed = 0;
  bool complete = false;
  std::uint64_t left_out = 0;  ///< arms with a remedy, where nothing fails
  int exit_code = 2;
  std::string predicted{};             ///< prediction_line(); empty where nothing was predicted
  std::string nearest{};               ///< how many arms are as the stack showed that judges most of them
  std::vector<std::string> noted{};    ///< "CASE/ARM: ...": what differs and is no failure
  std::vector<exit_reason> reasons{};  ///< of a run that has just ended: a record does not keep them
  std::vector<report_arm> arms{};      ///< in the order of the record; arms of a case stand together
};
run_report report_of(const record& r, const cost_notes& costs = {});

/// "passed", or "FAILED: 2 arms CHANGED: types.int8/a, types.int8/b; ..." with each reason, and at most so many names of each.
std::string verdict_line(std::span<const exit_reason> reasons, std::size_t most_names);
nlohmann::json to_json(std::span<const exit_reason> reasons);

using verdict_counts = std::map<std::size_t, std::size_t>;  ///< arms by rank() of their verdict
std::string text_of(const verdict_counts& counts);          ///< "1 CHANGED, 20 OK"

}  // namespace cufault
