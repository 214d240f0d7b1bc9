// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Arms by verdict, exit code and times, each with the stack as a label.
#include "reports/base/prometheus.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/printers.hpp"

#include <map>

namespace cufault {
namespace {

std::string report_as_prometheus(const report& r) {
  constexpr double milliseconds = 1000;
  prometheus_text page;
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    page.family(name, help);
    for (const report::stack& s : r.stacks)
      page.sample(static_cast<double>(value(s.run)), {{"stack", s.run.stack}});
  };
  page.family("cufault_run_info", "The cufault that ran, or that reports on a stack, and in which mode.");
  for (const report::stack& s : r.stacks)
    page.sample(1, {{"stack", s.run.stack}, {"version", s.run.version}, {"mode", to_string(s.run.mode)}});
  each("cufault_run_exit_code", "Exit code of cufault run; of a report, that of a gate over these arms.",
       [](const run_report& run) { return run.exit_code; });
  each("cufault_run_complete", "1 where the run came to its end.",
       [](const run_report& run) { return run.complete ? 1 : 0; });
  page.family("cufault_run_arms", "Arms of the run by verdict. Arms without a GPU are NOT_PROVOKED.");
  for (const report::stack& s : r.stacks) {
    std::map<verdict, int> counts;
    for (const report_arm& a : s.run.arms) ++counts[a.judged];
    for (const advice& of : advices)
      page.sample(counts[of.v], {{"stack", s.run.stack}, {"verdict", to_string(of.v)}});
  }
  each("cufault_run_left_out_arms", "Arms with a remedy that were not run, since nothing fails without it.",
       [](const run_report& run) { return run.left_out; });
  each("cufault_run_start_time_seconds", "When it began, since 1970.",
       [](const run_report& run) { return static_cast<double>(run.start_ms) / milliseconds; });
  each("cufault_run_end_time_seconds", "When it ended, since 1970.",
       [](const run_report& run) { return static_cast<double>(run.stop_ms) / milliseconds; });
  return page.text();
}

}  // namespace

const report_printer as_prometheus{
    "prometheus", "cufault.prom",
    "counts of verdicts in Prometheus' text format (for the textfile collector of node_exporter: FILE.prom)",
    report_as_prometheus};

}  // namespace cufault
