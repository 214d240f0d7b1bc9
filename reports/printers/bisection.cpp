// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/bisection.hpp"

#include "reports/model/observation.hpp"
#include "reports/printers/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace cufault {
namespace {

std::string line_of(const found_change& change) {
  if (change.between.empty())
    return change.mended ? fmt::format("MENDED: {} is the first good release, {} the last bad one",
                                       change.good, change.bad)
                         : fmt::format("BROKE: {} is the first bad release, {} the last good one", change.bad,
                                       change.good);
  return fmt::format("{} between {} (the last {}) and {} (the first {}): {} could not be decided",
                     change.mended ? "MENDED" : "BROKE", change.mended ? change.bad : change.good,
                     change.mended ? "bad" : "good", change.mended ? change.good : change.bad,
                     change.mended ? "good" : "bad", fmt::join(change.between, ", "));
}

std::string or_none(const std::string& text) {
  return text.empty() ? "not known" : text;
}

double percent(double part) {
  return std::min(100.0, 100 * part);
}

}  // namespace

std::string words_of(const outcome_counts& counts) {
  std::vector<std::pair<std::string, int>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [outcome, trials] : all)
    parts.push_back(all.size() == 1 ? shortened(outcome) : fmt::format("{}: {}", trials, shortened(outcome)));
  return fmt::format("{}", fmt::join(parts, " | "));
}

void print_bisection(std::ostream& out, const bisection_report& report, table_style style) {
  print_heading(out, "cufault bisect: " + report.what, 2, style);
  const auto paragraph = [&](const std::string& text) {
    out << cell(text, style) << (style == table_style::markdown ? "\n\n" : "\n");
  };
  paragraph(fmt::format("GPU {}, driver {}, CUDA runtime {}; cufault {}; releases from {}",
                        or_none(report.gpu), or_none(report.driver), or_none(report.runtime), report.cufault,
                        report.from));
  for (const found_change& change : report.changes) paragraph(line_of(change));
  if (report.once)
    paragraph(report.is_arm ? "The outcome of this arm does not vary: one run decides a release."
                            : "One run decides a release (--once): no error is stated.");
  else {
    std::string all =
        fmt::format("Each decision is wrong with a probability of at most {:.3g} %", percent(report.error));
    for (const found_change& change : report.changes)
      all += fmt::format("; {} rests on {}: at most {:.3g} %", change.mended ? "MENDED" : "BROKE",
                         plural(change.decisions, "decision"),
                         percent(report.error * static_cast<double>(change.decisions)));
    paragraph(all);
  }
  if (style == table_style::text) out << '\n';
  std::vector<table_row> rows;
  for (const tried_release& r : report.releases)
    rows.push_back({r.name, or_none(r.version), or_none(r.build_id), r.result,
                    std::to_string(trials_in(r.outcomes)), r.why.empty() ? words_of(r.outcomes) : r.why});
  print_table(out, {"release", "library says", "build id", "result", "trials", "outcome"}, rows, style);
  paragraph("Repeat: " + report.repeat);
}

nlohmann::json to_json(const bisection_report& report) {
  auto releases = nlohmann::json::array(), changes = nlohmann::json::array();
  for (const tried_release& r : report.releases)
    releases.push_back({{"release", r.name},
                        {"version", r.version},
                        {"build_id", r.build_id},
                        {"result", r.result},
                        {"trials", trials_in(r.outcomes)},
                        {"outcomes", r.outcomes},
                        {"why", r.why},
                        {"seconds", r.seconds}});
  for (const found_change& c : report.changes) {
    changes.push_back({{"change", c.mended ? "mended" : "broke"},
                       {c.mended ? "first_good" : "last_good", c.good},
                       {c.mended ? "last_bad" : "first_bad", c.bad},
                       {"between", c.between},
                       {"decisions", c.decisions}});
    if (!report.once)
      changes.back()["error"] = std::min(1.0, report.error * static_cast<double>(c.decisions));
  }
  return {{"schema", 1},
          {"cufault", report.cufault},
          {report.is_arm ? "arm" : "command", report.what},
          {"from", report.from},
          {"gpu", report.gpu},
          {"driver", report.driver},
          {"runtime", report.runtime},
          {"error", report.once ? nlohmann::json() : nlohmann::json(report.error)},
          {"releases", releases},
          {"changes", changes},
          {"repeat", report.repeat},
          {"reasons", to_json(report.reasons)}};
}

}  // namespace cufault
