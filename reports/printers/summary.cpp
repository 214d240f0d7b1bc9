// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/summary.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cufault {
std::vector<change_group> groups_in(const std::vector<const report_arm*>& arms) {
  std::vector<described_arm> all;
  for (const auto* a : arms)
    all.push_back(described(join_key(a->case_name, a->arm), {a->judged, a->why, {}, a->lost}));
  return groups_of(all);
}

std::string keys_text(const std::vector<stack_difference>& stacks, std::string_view all) {
  constexpr std::size_t one_line = 80, three_lines = 230;  // of a narrow terminal
  const auto is_path = [](const std::string& value) { return value.find('/') != std::string::npos; };
  std::string text;
  std::size_t left = 0;
  for (const stack_difference& d : stacks)
    if (text.size() < (is_path(d.name) ? one_line : three_lines) && d.name.find(':') == std::string::npos &&
        std::ranges::none_of(d.values, is_path))
      text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", d.name,
                          d.values[0].empty() ? "-" : d.values[0], d.values[1].empty() ? "-" : d.values[1]);
    else
      ++left;
  if (left > 0 && !all.empty()) text += fmt::format("{}{} more: {}", text.empty() ? "" : ", and ", left, all);
  return text;
}

run_summary summary_of(const run_report& run) {
  run_summary all;
  for (const report_arm& a : run.arms) {
    // Unexpected where an expectation covers it all the same: a gate fails, and says so.
    if (!a.no_gpu.empty() && a.judged == verdict::not_provoked) {
      ++all.without_gpu;
      all.cases_without_gpu.insert(a.case_name);
      all.why_no_gpu = a.no_gpu;
      continue;
    }
    const auto at = rank(a.judged);
    ++all.arms;
    all.by_rank[at].push_back(&a);
    ++all.families[a.case_name.substr(0, a.case_name.find('.'))][at];
    ++all.totals[at];
  }
  return all;
}

std::vector<std::string> remarks_on(const run_report& run, const run_summary& all) {
  std::vector<std::string> lines;
  if (all.without_gpu > 0)
    lines.push_back(fmt::format("{} of {} need a GPU and were not run: {}", plural(all.without_gpu, "arm"),
                                plural(all.cases_without_gpu.size(), "case"), all.why_no_gpu));
  if (run.left_out > 0)
    lines.push_back(
        fmt::format("{} with a remedy {} not run: without it nothing fails, by a record of this stack. "
                    "CASE/ARM runs one, --tier nightly all.",
                    plural(run.left_out, "arm"), run.left_out == 1 ? "was" : "were"));
  if (!run.complete) lines.emplace_back("The run did not come to its end.");
  if (run.mode == run_mode::gate)
    lines.push_back(
        fmt::format("gate: {}{}", verdict_line(run.reasons, most_names),
                    run.reasons.empty() && all.without_gpu > 0 ? ", without the arms that need a GPU" : ""));
  return lines;
}

std::string counts_or_none(const run_summary& all) {
  return all.arms == 0 ? "no arm ran" : text_of(all.totals);
}

std::string change_line(const report_change& c) {
  const std::string all = plural(c.same + c.changed, "arm");
  std::string line = fmt::format(
      "{} {}, {} ({})",
      c.same + c.changed == 0 ? "nothing can be compared: no arm of this run is in"
      : c.changed == 0        ? fmt::format("nothing changed: {} as in", all)
                       : fmt::format("{} of {} differ{} from", c.changed, all, c.changed == 1 ? "s" : ""),
      c.filed ? "the record of " + c.label : "the last green run", c.started, c.green);
  if (c.unknown > 0) line += fmt::format("; {} not in it", plural(c.unknown, "arm"));
  if (const std::string keys = keys_text(c.stacks); !keys.empty()) line += "; the stack differs: " + keys;
  return line;
}

std::vector<std::string> changed_lines(const report_change& c) {
  std::vector<std::string> lines;
  for (const report_change::group& g : c.groups)
    lines.push_back(fmt::format("{}; repeat: {}", line_of(g.of, true), g.repeat));
  return lines;
}

std::string case_line(const case_result& c) {
  verdict_counts by_rank;
  for (const arm_result& a : c.arms) ++by_rank[rank(a.judged)];
  return fmt::format("{}: {}", c.name, text_of(by_rank));
}

}  // namespace cufault
