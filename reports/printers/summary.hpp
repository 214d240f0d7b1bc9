// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>

namespace cufault {

/// What a run came to, on one screen: what is unexpected, worst first, with what to do; a line a family; the totals. Arms that were not
/// run for want of a GPU are one line. `file`: the record, where the rest is to be read.
void print_summary(std::ostream& out, const run_report& report, const std::string& file);

/// The same as a page, below markdown_limit: for a step summary.
std::string summary_markdown(const run_report& report, const std::string& file);
/// Of a report over several stacks.
std::string summary_markdown(const report& all);

/// The same for programs: {"record", "complete", "exit_code", "seed", "counts": {verdict: arms}, "unexpected": [{"case", "arm",
/// "verdict", "why", "seen"}], "without_gpu": arms not run for want of a GPU, "left_out": arms with a remedy where nothing fails}.
nlohmann::json summary_json(const run_report& report, const std::string& file);

/// A case in one line: "types.int8: 3 OK, 8 REPRODUCED".
std::string case_line(const case_result& c);

}  // namespace cufault
