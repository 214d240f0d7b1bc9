// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/summary.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t most_lines = 20;  // of one verdict: the record has all
// Of verdicts that say the same of many arms, a line a case and reason; of others a line an arm.
std::vector<std::string> lines_of(verdict v, const std::vector<const report_arm*>& arms) {
  std::vector<std::string> lines;
  if (v != verdict::unrecorded && v != verdict::not_provoked) {
    for (const auto* a : arms) lines.push_back(fmt::format("{}: {}", join_key(a->case_name, a->arm), a->why));
    return lines;
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> alike;
  for (const auto* a : arms)
    alike[{a->case_name, v == verdict::unrecorded ? std::string() : a->why}].push_back(a->arm);
  for (const auto& [key, names] : alike) {
    const auto& [name, why] = key;
    lines.push_back(fmt::format("{}{}{}{}", name,
                                names.size() == 1 ? "/" + names[0] : fmt::format(": {} arms", names.size()),
                                why.empty() ? "" : ": ", why));
  }
  return lines;
}

std::string left_out_line(std::uint64_t arms) {
  return fmt::format(
      "{} with a remedy {} not run: without it nothing fails, by a record of this stack. CASE/ARM runs "
      "one, --tier nightly all.",
      plural(arms, "arm"), arms == 1 ? "was" : "were");
}

/// Arms by rank of their verdict, without those that were not run for want of a GPU.
struct sorted_arms {
  std::map<std::size_t, std::vector<const report_arm*>> by_rank;
  std::map<std::string, verdict_counts> families;
  verdict_counts totals;
  std::size_t arms = 0, without_gpu = 0;
  std::set<std::string> cases_without_gpu;
  std::string why_no_gpu;
};
sorted_arms sorted(const run_report& report) {
  sorted_arms all;
  for (const report_arm& a : report.arms) {
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

std::string gate_line(const run_report& report, const sorted_arms& all) {
  return fmt::format(
      "gate: {}{}", verdict_line(report.reasons, most_lines),
      report.reasons.empty() && all.without_gpu > 0 ? ", without the arms that need a GPU" : "");
}

}  // namespace

std::string case_line(const case_result& c) {
  verdict_counts by_rank;
  for (const arm_result& a : c.arms) ++by_rank[rank(a.judged)];
  return fmt::format("{}: {}", c.name, text_of(by_rank));
}

void print_summary(std::ostream& out, const run_report& report, const std::string& file) {
  const sorted_arms all = sorted(report);
  if (all.arms + all.without_gpu == 0) out << "no arm ran: a run in which nothing ran is not green\n";
  if (!report.predicted.empty()) out << report.predicted << "\n\n";
  for (const auto& [at, arms] : all.by_rank) {
    if (advices[at].asks.empty()) continue;
    out << fmt::format("{}: {}.\n", to_string(advices[at].v), advices[at].asks);
    const auto lines = lines_of(advices[at].v, arms);
    for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i)
      out << "  " << cell(lines[i], table_style::text) << '\n';
    if (lines.size() > most_lines)
      out << fmt::format("  and {} more: cufault show {}\n", lines.size() - most_lines, file);
    out << '\n';
  }
  for (const std::string& line : report.noted)
    out << cell("noted, and no failure: " + line, table_style::text) << '\n';
  std::size_t widest = 0;
  for (const auto& [name, of_it] : all.families) widest = std::max(widest, name.size());
  for (const auto& [name, of_it] : all.families)
    out << fmt::format("{:<{}}  {}\n", name, widest, text_of(of_it));
  if (all.arms > 0) out << fmt::format("{}: {}\n", plural(all.arms, "arm"), text_of(all.totals));
  if (all.without_gpu > 0)
    out << fmt::format("{} of {} need a GPU and were not run: {}\n", plural(all.without_gpu, "arm"),
                       plural(all.cases_without_gpu.size(), "case"), all.why_no_gpu);
  if (report.left_out > 0) out << left_out_line(report.left_out) << '\n';
  if (!report.complete) out << "The run did not come to its end.\n";
  if (report.mode == run_mode::gate) out << cell(gate_line(report, all), table_style::text) << '\n';
}

namespace {

/// What is unexpected, and a line a family.
void put_arms(limited_output& page, const sorted_arms& all) {
  for (const auto& [at, arms] : all.by_rank)
    if (!advices[at].asks.empty())
      page.list(fmt::format("{}: {}", to_string(advices[at].v), advices[at].asks),
                lines_of(advices[at].v, arms));
  std::vector<table_row> rows;
  for (const auto& [name, counts] : all.families) rows.push_back({name, text_of(counts)});
  if (!rows.empty()) page.table("By family", {"family", "verdicts"}, rows);
}

std::string without_gpu_line(const sorted_arms& all) {
  return fmt::format("{} of {} need a GPU and were not run: {}", plural(all.without_gpu, "arm"),
                     plural(all.cases_without_gpu.size(), "case"), all.why_no_gpu);
}

}  // namespace

std::string summary_markdown(const run_report& report, const std::string& file) {
  const sorted_arms all = sorted(report);
  std::ostringstream out;
  limited_output page(out, table_style::markdown);
  page.heading(fmt::format("cufault run: {}", all.arms == 0 ? "no arm ran" : text_of(all.totals)));
  page.line(fmt::format("stack: {}", report.stack));
  page.line(fmt::format("exit code {} in mode {}; seed {}; record {}", report.exit_code,
                        to_string(report.mode), report.seed, file));
  if (!report.predicted.empty()) page.line(report.predicted);
  if (all.without_gpu > 0) page.line(without_gpu_line(all));
  if (report.left_out > 0) page.line(left_out_line(report.left_out));
  if (!report.complete) page.line("The run did not come to its end.");
  if (report.mode == run_mode::gate) page.line(gate_line(report, all));
  put_arms(page, all);
  if (!report.noted.empty()) page.list("Noted, and no failure", report.noted);
  return out.str();
}

std::string summary_markdown(const report& r) {
  std::ostringstream out;
  limited_output page(out, table_style::markdown);
  page.heading(fmt::format("cufault report: {}", plural(r.stacks.size(), "stack")));
  for (const std::string& why : r.unread) page.line(fmt::format("could not be read: {}", why));
  for (const std::string& name : r.incomplete) page.line(fmt::format("did not come to its end: {}", name));
  for (const report::stack& s : r.stacks) {
    const sorted_arms all = sorted(s.run);
    page.heading(fmt::format("{}: {}", s.run.stack, all.arms == 0 ? "no arm ran" : text_of(all.totals)));
    page.line(
        fmt::format("{}, the latest of {}; observations: {}", plural(s.runs, "record"), s.latest, s.file));
    if (!s.run.predicted.empty()) page.line(s.run.predicted);
    if (all.without_gpu > 0) page.line(without_gpu_line(all));
    put_arms(page, all);
  }
  return out.str();
}

nlohmann::json summary_json(const run_report& report, const std::string& file) {
  nlohmann::json by_verdict = nlohmann::json::object(), unexpected = nlohmann::json::array();
  std::size_t without_gpu = 0;
  for (const report_arm& a : report.arms) {
    without_gpu += a.no_gpu.empty() ? 0 : 1;
    auto& count = by_verdict[to_string(a.judged)];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (!as_expected(a.judged) && a.no_gpu.empty())
      unexpected.push_back({{"case", a.case_name},
                            {"arm", a.arm},
                            {"verdict", to_string(a.judged)},
                            {"why", a.why},
                            {"seen", a.seen}});
  }
  return {{"record", file},
          {"complete", report.complete},
          {"exit_code", report.exit_code},
          {"reasons", to_json(report.reasons)},
          {"seed", report.seed},
          {"counts", by_verdict},
          {"unexpected", unexpected},
          {"noted", report.noted},
          {"without_gpu", without_gpu},
          {"left_out", report.left_out}};
}

}  // namespace cufault
