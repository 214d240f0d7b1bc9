// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A page below markdown_limit: for a step summary.
#include "reports/printers/advice.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <sstream>

namespace cufault {
namespace {

/// What is unexpected, and a line a family.
void put_arms(limited_output& page, const run_summary& all) {
  for (const auto& [at, arms] : all.by_rank)
    if (!advices[at].asks.empty())
      page.list(fmt::format("{}: {}", to_string(advices[at].v), advices[at].asks),
                lines_of(groups_in(arms), false, SIZE_MAX, {}));
  std::vector<table_row> rows;
  for (const auto& [name, counts] : all.families) rows.push_back({name, text_of(counts)});
  if (!rows.empty()) page.table("By family", {"family", "verdicts"}, rows);
}

std::string report_as_markdown(const report& r) {
  std::ostringstream out;
  limited_output page(out, table_style::markdown);
  const bool one_run = r.command == "cufault run";
  if (!one_run) page.heading(fmt::format("{}: {}", r.command, plural(r.stacks.size(), "stack")));
  for (const std::string& why : r.unread) page.line(fmt::format("could not be read: {}", why));
  for (const std::string& name : r.incomplete) page.line(fmt::format("did not come to its end: {}", name));
  if (r.change) {
    page.line(change_line(*r.change));
    if (const auto lines = changed_lines(*r.change); !lines.empty())
      page.list("Changed since the last green run", lines);
  }
  for (const report::stack& s : r.stacks) {
    const run_summary all = summary_of(s.run);
    page.heading(fmt::format("{}: {}", one_run ? r.command : s.run.stack, counts_or_none(all)));
    if (one_run) {
      page.line(fmt::format("stack: {}", s.run.stack));
      page.line(fmt::format("exit code {} in mode {}; seed {}; record {}", s.run.exit_code,
                            to_string(s.run.mode), s.run.seed, s.file));
    } else {
      page.line(
          fmt::format("{}, the latest of {}; observations: {}", plural(s.runs, "record"), s.latest, s.file));
      if (!s.run.nearest.empty()) page.line(s.run.nearest);
    }
    if (!s.run.predicted.empty()) page.line(s.run.predicted);
    for (const std::string& what : remarks_on(s.run, all)) page.line(what);
    put_arms(page, all);
    if (!s.run.noted.empty()) page.list("Noted, and no failure", s.run.noted);
  }
  return out.str();
}

}  // namespace

const report_printer as_markdown{"markdown", "summary.md", "the summary as Markdown: for a step summary",
                                 report_as_markdown};

}  // namespace cufault
