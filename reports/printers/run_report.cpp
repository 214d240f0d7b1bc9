// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/run_report.hpp"

#include "reports/model/record_parts.hpp"
#include "reports/model/times.hpp"
#include "reports/printers/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cufault {
namespace {

test_status status_of(verdict v) {
  if (v == verdict::unresolved) return test_status::error;
  if (v == verdict::not_provoked || v == verdict::undefined || is_prediction(v)) return test_status::skipped;
  return as_expected(v) ? test_status::passed : test_status::failed;
}

double seconds_of(const arm_result& a) {
  double milliseconds = 0;
  for (const observation& o : a.trials) milliseconds += o.milliseconds;
  return milliseconds / 1000;
}

/// Arms of one stack may come from several runs.
std::uint64_t seed_of(const record& r, const arm_result& a) {
  const auto latest = std::ranges::max_element(a.runs, {}, &run_of_trials::started);
  return latest == a.runs.end() ? r.seed : latest->seed;
}

}  // namespace

std::string text_of(const verdict_counts& counts) {
  std::vector<std::string> words;
  for (const auto& [at, arms] : counts) words.push_back(fmt::format("{} {}", arms, to_string(advices[at].v)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string verdict_line(std::span<const exit_reason> reasons, std::size_t most_names) {
  const int code = exit_code(reasons);
  std::string line = code == 0                  ? "passed"
                     : code == 1                ? "FAILED"
                     : code == 77               ? "SKIPPED"
                     : code == exit_no_baseline ? "NOT JUDGED"
                                                : "UNRESOLVED";
  for (const exit_reason& r : reasons) {
    line += (&r == &reasons.front() ? ": " : "; ") + r.why;
    const std::size_t named = std::min(most_names, r.arms.size());
    if (named == 0) continue;
    line += fmt::format(": {}", fmt::join(std::span(r.arms).first(named), ", "));
    if (named < r.arms.size()) line += fmt::format(" and {} more", r.arms.size() - named);
  }
  return line;
}

nlohmann::json to_json(std::span<const exit_reason> reasons) {
  auto list = nlohmann::json::array();
  for (const exit_reason& r : reasons)
    list.push_back({{"exit_code", r.exit_code}, {"why", r.why}, {"arms", r.arms}});
  return list;
}

run_report report_of(const record& r, const cost_notes& costs) {
  run_report report{.stack = stack_label(r),
                    .version = r.version,
                    .started = r.started,
                    .ended = r.ended,
                    .start_ms = milliseconds_of(r.started),
                    .stop_ms = milliseconds_of(r.ended),
                    .mode = r.mode,
                    .seed = r.seed,
                    .complete = r.complete,
                    .left_out = r.left_out,
                    .exit_code = r.exit_code,
                    .predicted = prediction_line(predictions_of(r.cases))};
  const std::string libraries = library_options(r);
  std::map<std::string, std::pair<std::size_t, std::size_t>> judges;  // as there, of all, by the stack
  for (const case_result& c : r.cases)
    for (const arm_result& a : c.arms) {
      if (a.covered && !a.compared_with.empty()) {
        auto& [as_there, arms] = judges[a.compared_with];
        as_there += as_expected(a.judged) ? 1 : 0;
        ++arms;
      }
      if (!a.noted.empty()) report.noted.push_back(fmt::format("{}: {}", join_key(c.name, a.name), a.noted));
      report.arms.push_back({.case_name = c.name,
                             .arm = a.name,
                             .kind = to_string(a.kind),
                             .made_up = is_made_up(a),
                             .cost = cost_beside(costs, report.stack, c, a),
                             .judged = a.judged,
                             .lost = a.lost,
                             .status = status_of(a.judged),
                             .why = a.why,
                             .seen = seen_by(a),
                             .expectation = a.expectation,
                             .repeat = fmt::format("cufault run {} --seed {}{}", join_key(c.name, a.name),
                                                   seed_of(r, a), libraries),
                             .seconds = seconds_of(a),
                             .no_gpu = why_no_gpu(a),
                             .source = a.source});
    }
  const auto most = std::ranges::max_element(
      judges, [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
  if (most != judges.end())
    report.nearest =
        fmt::format("{} of {} arms as recorded on {}", most->second.first, most->second.second, most->first);
  return report;
}

}  // namespace cufault
