// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a terminal shows, on one screen: what is unexpected, worst first, with what to do; a line a family; the totals.
#include "reports/printers/advice.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cufault {
namespace {

template <class Line>
void put_run(std::string& text, const report::stack& s, const Line& line) {
  const run_summary all = summary_of(s.run);
  if (all.arms + all.without_gpu == 0) line("no arm ran: a run in which nothing ran is not green");
  if (!s.run.predicted.empty()) text += s.run.predicted + "\n\n";
  for (const auto& [at, arms] : all.by_rank) {
    if (advices[at].asks.empty()) continue;
    line(fmt::format("{}: {}.", to_string(advices[at].v), advices[at].asks));
    for (const std::string& of : lines_of(groups_in(arms), false, most_groups, "cufault show " + s.file))
      line("  " + of);
    text += '\n';
  }
  for (const std::string& what : s.run.noted) line("noted, and no failure: " + what);
  std::size_t widest = 0;
  for (const auto& [name, of_it] : all.families) widest = std::max(widest, name.size());
  for (const auto& [name, of_it] : all.families)
    line(fmt::format("{:<{}}  {}", name, widest, text_of(of_it)));
  if (all.arms > 0) line(fmt::format("{}: {}", plural(all.arms, "arm"), text_of(all.totals)));
  for (const std::string& what : remarks_on(s.run, all)) line(what);
}

std::string report_as_text(const report& r) {
  std::string text;
  const auto line = [&](const std::string& what) { text += cell(what, table_style::text) + '\n'; };
  if (r.change) {
    line(change_line(*r.change));
    const auto lines = changed_lines(*r.change);
    const std::size_t shown = std::min(lines.size(), most_groups);
    for (std::size_t i = 0; i < shown; ++i) line("  " + lines[i]);
    if (lines.size() > shown) line(fmt::format("  and {} more: the page has all", lines.size() - shown));
    text += '\n';
  }
  for (const report::stack& s : r.stacks) {
    if (&s != r.stacks.data()) text += '\n';
    if (r.stacks.size() > 1) line(s.run.stack);
    put_run(text, s, line);
  }
  return text;
}

}  // namespace

const report_printer as_text{"text", "summary.txt", "the summary as text", report_as_text};

}  // namespace cufault
