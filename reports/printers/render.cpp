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
#include <set>
#include <span>
#include <string_view>
#include <tuple>
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

namespace {

/// The stacks of all evidence, each with a letter for it: a table that names them in every cell is too wide to read.
std::map<std::string, std::string> letters_of(const std::vector<claim_verdict>& verdicts) {
  std::map<std::string, std::string> letters;
  for (const auto& v : verdicts)
    for (const auto& e : v.evidence) letters.emplace(e.stack, "");
  std::size_t index = 0;
  for (auto& [stack, letter] : letters) letter = letter_of(index++);
  return letters;
}

/// "2 confirmed, 1 untested": each word once.
std::string counted_words(const std::vector<std::string>& words) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& word : words) ++counts[word];
  std::vector<std::string> parts;
  for (const auto& [word, count] : counts) parts.push_back(fmt::format("{} {}", count, word));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cost_of(const claim_evidence& e, const cost_notes& costs) {
  return e.clears ? note_of(costs, e.stack, remedy_of_arm(join_key(e.case_name, e.arm))) : std::string();
}

/// "confirmed by memory.leak/this, that; memory.more/other (a, b)": a line for each word and set of stacks, natural ones first. Beside a
/// remedy: what it costs on the first of its stacks where that was measured.
std::vector<std::string> evidence_by_word(const std::vector<claim_evidence>& evidence,
                                          const std::map<std::string, std::string>& letters,
                                          const cost_notes& costs) {
  struct of_arm {
    bool made_up = false;
    std::string cost{};
    std::map<std::string, std::set<std::string>> stacks{};  // by what they say
  };
  std::map<std::pair<std::string, std::string>, of_arm> arms_of;
  for (const auto& e : evidence) {
    of_arm& arm = arms_of[{e.case_name, e.arm}];
    arm.made_up = e.made_up;
    if (const std::string cost = cost_of(e, costs); arm.cost.empty() && !cost.empty())
      arm.cost = fmt::format(" [{}]", cost);
    arm.stacks[e.says].insert(letters.at(e.stack));
  }
  std::map<std::tuple<bool, std::string, std::set<std::string>>,
           std::map<std::string, std::vector<std::string>>>
      lines_of;
  for (const auto& [name, arm] : arms_of)
    for (const auto& [says, stacks] : arm.stacks)
      lines_of[{arm.made_up, says, stacks}][name.first].push_back(name.second + arm.cost);
  std::vector<std::string> lines;
  for (const auto& [key, cases] : lines_of) {
    const auto& [made_up, says, stacks] = key;
    std::vector<std::string> names;
    for (const auto& [case_name, arms] : cases)
      names.push_back(fmt::format("{}/{}", case_name, fmt::join(arms, ", ")));
    lines.push_back(fmt::format("{}{} by {} ({})", made_up ? "made up: " : "", says, fmt::join(names, "; "),
                                fmt::join(stacks, ", ")));
  }
  return lines;
}

}  // namespace

claims_in_table table_of_claims(const std::vector<claim_verdict>& verdicts, const cost_notes& costs) {
  claims_in_table all{.head = {"claim", "kind", "verdict", "what it says", "arms behind the verdict"}};
  const auto letters = letters_of(verdicts);
  for (const auto& [stack, letter] : letters) all.stacks.push_back(fmt::format("{}: {}", letter, stack));
  std::vector<std::string> words;
  for (const auto& v : verdicts) {
    words.push_back(v.verdict);
    const auto evidence = evidence_by_word(v.evidence, letters, costs);
    all.rows.push_back({v.what.id, to_string(v.what.kind), v.verdict, v.what.text,
                        evidence.empty() ? v.what.untestable : fmt::format("{}", fmt::join(evidence, "\n"))});
  }
  all.counts =
      fmt::format("{}: {}", plural(verdicts.size(), "claim"), words.empty() ? "none" : counted_words(words));
  return all;
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
