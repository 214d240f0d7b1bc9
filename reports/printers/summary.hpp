// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What several formats say of a run in the same words.
#pragma once

#include "reports/printers/groups.hpp"
#include "reports/printers/report.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

inline constexpr std::size_t most_names = 20;  ///< of a gate's reason: the record has all

/// Arms by rank of their verdict, without those that were not run for want of a GPU.
struct run_summary {
  std::map<std::size_t, std::vector<const report_arm*>> by_rank;
  std::map<std::string, verdict_counts> families;
  verdict_counts totals;
  std::size_t arms = 0, without_gpu = 0;
  std::set<std::string> cases_without_gpu;
  std::string why_no_gpu;
};
run_summary summary_of(const run_report& run);

/// Indexes are of `arms`.
std::vector<change_group> groups_in(const std::vector<const report_arm*>& arms);
/// "cublas 13.4.3 → 13.5.1, cublaslt 13.4.3 → 13.5.1, and 8 more: ALL": what differs between two, in one line, keys and
/// packages first, without facts of files and paths.
std::string keys_text(const std::vector<stack_difference>& stacks, std::string_view all = {});
/// How the run compares, what was left out, and what a gate came to; what does not apply is left out.
std::vector<std::string> remarks_on(const run_report& run, const run_summary& all);
std::string counts_or_none(const run_summary& all);  ///< "1 CHANGED, 20 OK", "no arm ran"

/// "2 of 240 arms differ from the last green run, 2026-11-27T02:00:00Z (records/a.jsonl); the stack differs: driver 570.1 → 580.1"
std::string change_line(const report_change& c);
std::vector<std::string> changed_lines(
    const report_change& c);  ///< a group each, with the line that repeats its first arm

/// A case in one line: "types.int8: 3 OK, 8 REPRODUCED".
std::string case_line(const case_result& c);

}  // namespace cufault
