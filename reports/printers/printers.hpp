// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cufault {

/// One format of a report. A new format is a file with one of these, and its name here and in printers.cpp.
struct report_printer {
  /// `name`: of the option of `cufault run`, "junit". `file`: what `cufault report` writes, "junit.xml". `what`: for --help.
  const char *name, *file, *what;
  std::string (*print)(const report& r);
};
extern const report_printer as_html, as_markdown, as_text, as_csv, as_json, as_junit, as_ctrf, as_prometheus;

/// The page comes first: by it the folder of a report is known.
std::span<const report_printer* const> report_printers();
std::string print_as(std::string_view name, const report& r);  ///< precondition: a name of report_printers()

/// Of index.html. Larger pages are slow to open, and many services do not show them.
inline constexpr std::size_t html_limit = 2'000'000;

/// Of one run, for `cufault run --json`: {"record", "complete", "exit_code", "reasons", "seed", "counts": {verdict: arms}, "unexpected":
/// [{"case", "arm", "verdict", "why", "seen"}], "noted", "without_gpu": arms not run for want of a GPU, "left_out": arms with a remedy
/// where nothing fails}.
nlohmann::json summary_json(const run_report& run, const std::string& file);

}  // namespace cufault
