// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/render.hpp"

#include "reports/judge/judge.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/run_report.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

using row = table_row;
constexpr std::size_t most_listed = 20;  // of one verdict

void print_bullet(std::ostream& out, std::string_view text, table_style style) {
  out << (style == table_style::markdown ? "- " : "  ") << cell(text, style) << '\n';
}

}  // namespace

void print_verdicts(std::ostream& out, const record& r, table_style style, const cost_notes& costs,
                    bool brief) {
  std::vector<row> rows;
  const std::string stack = stack_label(r);
  const predictions predicted = predictions_of(r.cases);
  const bool many_as_predicted = predicted.as_predicted > most_listed;
  std::map<std::size_t, std::vector<std::pair<std::string, const arm_result*>>> by_rank;
  std::size_t arms_in_all = 0;
  for (const auto& c : r.cases) arms_in_all += c.arms.size();
  brief = brief && arms_in_all > most_listed;
  const auto is_counted = [&](verdict v) {
    return brief ? rank(v) >= rank(verdict::unrecorded) : many_as_predicted && v == verdict::as_predicted;
  };
  std::vector<std::string> lines;  // of arms that are counted
  for (const auto& c : r.cases) {
    std::vector<const arm_result*> arms;
    verdict_counts counted;
    for (const auto& arm : c.arms) arms.push_back(&arm);
    std::ranges::stable_sort(arms, {}, [](const auto* a) { return std::pair(rank(a->judged), a->lost); });
    for (const auto* arm : arms) {
      by_rank[rank(arm->judged)].emplace_back(c.name, arm);
      if (is_counted(arm->judged)) {
        ++counted[rank(arm->judged)];
        continue;
      }
      const std::string cost = cost_beside(costs, stack, c, *arm);
      rows.push_back({c.name, arm->name, kind_text(*arm), to_string(arm->judged),
                      seen_by(*arm) + (cost.empty() ? "" : "; " + cost)});
    }
    if (brief && !counted.empty()) lines.push_back(fmt::format("{}: {}", c.name, text_of(counted)));
  }
  if (arms_in_all == 0) {
    out << "no arm ran: a run in which nothing ran is not green\n";
    return;
  }
  if (const std::string line = prediction_line(predicted); !line.empty()) out << line << "\n\n";
  for (const std::string& line : lines) print_bullet(out, line, style);
  if (brief || many_as_predicted)
    out << (brief ? "\nOnly arms that are red are listed; CASE or CASE/ARM lists others.\n\n"
                  : "Arms that are as predicted are not listed; CASE or CASE/ARM lists them.\n\n");
  if (!rows.empty()) print_table(out, {"case", "arm", "kind", "verdict", "what was seen"}, rows, style);

  std::vector<std::string> counts;
  for (const auto& [at, arms] : by_rank) {
    counts.push_back(fmt::format("{} {}", arms.size(), to_string(advices[at].v)));
    if (advices[at].asks.empty()) continue;
    const bool listed =
        advices[at].v != verdict::unrecorded && !is_counted(advices[at].v);  // else all is said
    out << fmt::format("{}: {}.\n{}", to_string(advices[at].v), advices[at].asks,
                       listed && style == table_style::text ? "" : "\n");
    if (!listed) continue;
    for (const auto& [case_name, arm] : std::span(arms).first(std::min(arms.size(), most_listed)))
      print_bullet(out, fmt::format("{}/{}: {}", case_name, arm->name, arm->why), style);
    if (arms.size() > most_listed)
      print_bullet(out, fmt::format("and {} more, in the table", arms.size() - most_listed), style);
    out << '\n';
  }
  if (!r.complete) out << "The run did not come to its end.\n";
  out << fmt::format("{}: {}\n", plural(arms_in_all, "arm"), fmt::join(counts, ", "));
}

std::string counted_words(const std::vector<std::string>& words) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& word : words) ++counts[word];
  std::vector<std::string> parts;
  for (const auto& [word, count] : counts) parts.push_back(fmt::format("{} {}", count, word));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_counterparts(std::ostream& out, const std::vector<counterpart_comparison>& counterparts,
                        table_style style) {
  std::vector<row> rows;
  std::vector<std::string> verdicts;
  for (const auto& t : counterparts) {
    verdicts.push_back(t.verdict);
    const row cells{t.of.case_name, t.of.natural, t.of.counterpart, t.verdict, t.stack};
    rows.push_back(cells);
    if (style == table_style::markdown) {
      rows.back().push_back(fmt::format("{}", fmt::join(t.differences, "\n")));
      continue;
    }
    for (const auto& line : t.differences) rows.push_back({"", "", "", "", "  " + line});
  }
  row head{"case", "natural arm", "injected counterpart", "agrees?", "stack"};
  if (style == table_style::markdown) head.emplace_back("where it differs: natural arm → counterpart");
  if (!rows.empty()) print_table(out, head, rows, style);
  out << fmt::format("{}: {}\n", plural(counterparts.size(), "comparison"),
                     verdicts.empty() ? "no arm has an injected counterpart" : counted_words(verdicts));
}

nlohmann::ordered_json to_json(const std::vector<counterpart_comparison>& counterparts) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& t : counterparts)
    all.push_back({{"case", t.of.case_name},
                   {"natural", t.of.natural},
                   {"counterpart", t.of.counterpart},
                   {"verdict", t.verdict},
                   {"stack", t.stack},
                   {"differences", t.differences}});
  return {{"schema", 1}, {"comparisons", all}};
}

}  // namespace cufault
