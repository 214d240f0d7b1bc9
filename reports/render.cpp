// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/render.hpp"

#include "reports/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

using row = table_row;

/// What a reader is to know about a verdict; worst first. Expected ones ask for nothing.
struct advice {
  verdict v;
  std::string_view asks;
};

constexpr std::array advices{
    advice{verdict::unresolved,
           "nothing was proved: repair the harness, the control or the machine, and run again"},
    advice{verdict::worsened,
           "a status became a crash, a hang, wrong numbers or a damaged context: do not upgrade; "
           "report it with this record"},
    advice{verdict::remedy_broken,
           "the failure is the same and its remedy no longer clears it: do not upgrade before "
           "another remedy is known"},
    advice{verdict::changed, "it fails in another way: check what code relies on the old status, then bless"},
    advice{verdict::gone, "the failure no longer happens, or a dead end now clears it: check, then bless"},
    advice{verdict::uncharted, "no expectation covers this stack: read what was seen, then bless it"},
    advice{verdict::not_provoked, "its precondition could not be reached here: nothing is known about it"},
    advice{verdict::flaky, {}},
    advice{verdict::still_fails, {}},
    advice{verdict::reproduced, {}},
    advice{verdict::cleared, {}},
    advice{verdict::ok, {}}};

std::size_t rank(verdict v) {
  const auto at = std::find_if(advices.begin(), advices.end(), [&](const advice& a) { return a.v == v; });
  return static_cast<std::size_t>(at - advices.begin());
}

/// What an arm saw, in one line; the reason where there is nothing to compare.
std::string seen_by(const arm_result& arm) {
  if (arm.trials.empty()) return "nothing: no trial was recorded";
  for (const auto& o : arm.trials)
    if (!comparable(o)) return fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o));
  return describe(arm);
}

void print_bullet(std::ostream& out, std::string_view text, table_style style) {
  out << (style == table_style::markdown ? "- " : "  ") << cell(text, style) << '\n';
}

using arm_map = std::map<std::pair<std::string, std::string>, const arm_result*>;

arm_map arms_of(const record& r) {
  arm_map arms;
  for (const auto& c : r.cases)
    for (const auto& arm : c.arms) arms.emplace(std::pair{c.name, arm.name}, &arm);
  return arms;
}

}  // namespace

void print_verdicts(std::ostream& out, const record& r, table_style style) {
  std::vector<row> rows;
  std::map<std::size_t, std::vector<std::pair<std::string, const arm_result*>>> by_rank;
  for (const auto& c : r.cases) {
    std::vector<const arm_result*> arms;
    for (const auto& arm : c.arms) arms.push_back(&arm);
    std::stable_sort(arms.begin(), arms.end(),
                     [](const auto* a, const auto* b) { return rank(a->judged) < rank(b->judged); });
    for (const auto* arm : arms) {
      rows.push_back({c.name, arm->name, to_string(arm->kind), to_string(arm->judged), seen_by(*arm)});
      by_rank[rank(arm->judged)].emplace_back(c.name, arm);
    }
  }
  if (rows.empty()) {
    out << "no arm ran: a run in which nothing ran is not green\n";
    return;
  }
  print_table(out, {"case", "arm", "kind", "verdict", "what was seen"}, rows, style);

  std::vector<std::string> counts;
  for (const auto& [at, arms] : by_rank)
    counts.push_back(fmt::format("{} {}", arms.size(), to_string(advices[at].v)));
  out << fmt::format("{}: {}\n", plural(rows.size(), "arm"), fmt::join(counts, ", "));
  if (!r.complete) out << "The run did not come to its end.\n";

  for (const auto& [at, arms] : by_rank) {
    if (advices[at].asks.empty()) continue;
    out << fmt::format("\n{}: {}.\n", to_string(advices[at].v), advices[at].asks);
    if (advices[at].v == verdict::uncharted) continue;  // the table has said it all
    if (style == table_style::markdown) out << '\n';
    for (const auto& [case_name, arm] : arms)
      print_bullet(out, fmt::format("{}/{}: {}", case_name, arm->name, arm->why), style);
  }
}

namespace {

/// The stacks of all evidence, each with a letter for it: a table that names them in every cell is too wide to read.
std::map<std::string, std::string> letters_of(const std::vector<claim_verdict>& verdicts) {
  std::map<std::string, std::string> letters;
  for (const auto& v : verdicts)
    for (const auto& e : v.evidence) letters.emplace(e.stack, "");
  std::size_t index = 0;
  for (auto& [stack, letter] : letters)
    letter = index < 26 ? std::string(1, static_cast<char>('a' + index++)) : fmt::format("s{}", index++);
  return letters;
}

/// "confirmed by memory.leak/this, that; memory.more/other (a, b)": a line for each word and set of stacks.
std::vector<std::string> evidence_by_word(const std::vector<claim_evidence>& evidence,
                                          const std::map<std::string, std::string>& letters) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::set<std::string>>> stacks_of;
  for (const auto& e : evidence) stacks_of[{e.case_name, e.arm}][e.says].insert(letters.at(e.stack));
  std::map<std::pair<std::string, std::set<std::string>>, std::map<std::string, std::vector<std::string>>>
      lines_of;
  for (const auto& [arm, words] : stacks_of)
    for (const auto& [says, stacks] : words) lines_of[{says, stacks}][arm.first].push_back(arm.second);
  std::vector<std::string> lines;
  for (const auto& [key, cases] : lines_of) {
    std::vector<std::string> names;
    for (const auto& [case_name, arms] : cases)
      names.push_back(fmt::format("{}/{}", case_name, fmt::join(arms, ", ")));
    lines.push_back(
        fmt::format("{} by {} ({})", key.first, fmt::join(names, "; "), fmt::join(key.second, ", ")));
  }
  return lines;
}

}  // namespace

void print_claims(std::ostream& out, const std::vector<claim_verdict>& verdicts, table_style style) {
  std::vector<row> rows;
  std::map<std::string, std::size_t> counts;
  const auto evidence_text = [](const claim_evidence& e) {
    return fmt::format("{}/{} ({}): {}: {}", e.case_name, e.arm, e.stack, e.says, e.why);
  };
  const auto letters = letters_of(verdicts);
  for (const auto& v : verdicts) {
    ++counts[v.verdict];
    std::vector<std::string> evidence;
    if (style == table_style::markdown)
      evidence = evidence_by_word(v.evidence, letters);
    else
      for (const auto& e : v.evidence) evidence.push_back(evidence_text(e));
    if (evidence.empty() && !v.what.untestable.empty()) evidence.push_back(v.what.untestable);
    const auto kind = std::string(1, v.what.kind);
    if (style == table_style::markdown) {
      rows.push_back({v.what.id, kind, v.verdict, v.what.text, fmt::format("{}", fmt::join(evidence, "\n"))});
    } else {
      rows.push_back({v.what.id, kind, v.verdict, v.what.text});
      for (auto& line : evidence) rows.push_back({"", "", "", "  " + std::move(line)});
    }
  }
  if (style == table_style::markdown) {
    for (const auto& [stack, letter] : letters)
      print_bullet(out, fmt::format("{}: {}", letter, stack), style);
    if (!letters.empty()) out << '\n';
    print_table(out, {"claim", "kind", "verdict", "what it says", "arms behind the verdict"}, rows, style);
  } else
    print_table(out, {"claim", "kind", "verdict", "what it says"}, rows, style);

  std::vector<std::string> words;
  for (const auto& [verdict, count] : counts) words.push_back(fmt::format("{} {}", count, verdict));
  out << fmt::format("{}: {}\n", plural(verdicts.size(), "claim"),
                     words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")));
}

namespace {

bool same(const arm_result& a, const arm_result& b) {
  const auto first = arm_signatures(a), second = arm_signatures(b);
  if (first == second || a.races.empty() || b.races.empty()) return first == second;
  return std::find_first_of(first.begin(), first.end(), second.begin(), second.end()) != first.end();
}

/// Each record's name in a table: its stack and, where two are of one stack, when it was made.
std::vector<std::string> labels_of(std::span<const record> records) {
  std::vector<std::string> labels;
  for (const auto& r : records) {
    const auto alike = std::count_if(records.begin(), records.end(),
                                     [&](const record& o) { return stack_label(o) == stack_label(r); });
    labels.push_back(alike == 1 ? stack_label(r) : fmt::format("{} ({})", stack_label(r), r.started));
  }
  return labels;
}

}  // namespace

int print_differences(std::ostream& out, std::span<const record> records, table_style style,
                      missing_arms missing) {
  std::vector<arm_map> arms;
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& r : records) {
    arms.push_back(arms_of(r));
    for (const auto& [name, arm] : arms.back()) names.insert(name);
  }
  std::vector<row> rows;
  std::size_t equal = 0;
  std::size_t unobserved = 0;
  std::size_t missed = 0;
  for (const auto& name : names) {
    std::vector<const arm_result*> each;
    for (const auto& of_record : arms)
      each.push_back(of_record.contains(name) ? of_record.at(name) : nullptr);
    const auto all = [&](auto holds) {
      return std::all_of(each.begin(), each.end(),
                         [&](const arm_result* arm) { return arm != nullptr && holds(*arm); });
    };
    if (all([](const arm_result& arm) { return !observed(arm); })) {
      ++unobserved;
      continue;
    }
    if (all(observed) && all([&](const arm_result& arm) { return same(*each.front(), arm); })) {
      ++equal;
      continue;
    }
    if (missing == missing_arms::counted && !all(observed)) {
      ++missed;
      continue;
    }
    row cells{name.first, name.second};
    for (const auto* arm : each) cells.push_back(arm == nullptr ? "(no such arm)" : seen_by(*arm));
    rows.push_back(std::move(cells));
  }

  const auto labels = labels_of(records);
  if (style == table_style::markdown) {
    row head{"case", "arm"};
    head.insert(head.end(), labels.begin(), labels.end());
    if (!rows.empty()) print_table(out, head, rows, style);
  } else {
    // Signatures are too long to stand side by side.
    for (const auto& r : rows) {
      out << cell(fmt::format("{}/{}", r[0], r[1]), style) << "\n";
      for (std::size_t i = 0; i < labels.size(); ++i)
        out << fmt::format("  {}: {}\n", cell(labels[i], style), cell(r[i + 2], style));
    }
    if (!rows.empty()) out << '\n';
  }
  out << fmt::format("{} different{}, {} equal", plural(rows.size(), "arm"),
                     missing == missing_arms::shown ? " or missing" : "", equal);
  if (missed > 0) out << fmt::format(", {} not observed in all", missed);
  if (unobserved > 0) out << fmt::format(", {} observed in none", unobserved);
  out << '\n';
  return static_cast<int>(rows.size());
}

void print_causes(std::ostream& out, const std::string& status, std::span<const record> records,
                  table_style style) {
  // call -> case/arm -> what it is -> stacks
  std::map<std::string, std::map<std::string, std::pair<std::string, std::set<std::string>>>> found;
  for (const auto& r : records)
    for (const auto& c : r.cases) {
      if (control_unresolved(c)) continue;
      for (const auto& arm : c.arms) {
        if (arm.kind != arm_kind::fault) continue;  // remedies and dead ends begin with a fault of these
        if (!arm.twin_of.empty()) continue;         // what is injected stands for one of these
        for (const auto& o : arm.trials)
          for (const auto& call : o.calls) {
            // What a sweep makes fail is no way that anybody meets.
            if (call.status != status || !comparable(o) || call.swept) continue;
            auto& [summary, stacks] = found[function_of(call.text)][fmt::format("{}/{}", c.name, arm.name)];
            summary = arm.summary;
            stacks.insert(stack_label(r));
          }
      }
    }
  std::vector<row> rows;
  for (const auto& [call, arms] : found)
    for (const auto& [name, entry] : arms)
      rows.push_back({call, name, entry.first, fmt::format("{}", fmt::join(entry.second, "\n"))});
  if (rows.empty()) {
    out << fmt::format("no call of a fault arm with a working control returned {} in {}\n", status,
                       plural(records.size(), "record"));
    return;
  }
  print_table(out, {"call", "arm", "what it does", "stack"}, rows, style);
  out << fmt::format("{} by {}\n", plural(rows.size(), "way"), plural(found.size(), "call"));
}

void print_twins(std::ostream& out, const std::vector<twin_comparison>& twins, table_style style) {
  std::vector<row> rows;
  std::map<std::string, std::size_t> counts;
  for (const auto& t : twins) {
    ++counts[t.verdict];
    const row cells{t.of.case_name, t.of.natural, t.of.twin, t.verdict, t.stack};
    rows.push_back(cells);
    if (style == table_style::markdown) {
      rows.back().push_back(fmt::format("{}", fmt::join(t.differences, "\n")));
      continue;
    }
    for (const auto& line : t.differences) rows.push_back({"", "", "", "", "  " + line});
  }
  row head{"case", "natural arm", "injected twin", "agrees?", "stack"};
  if (style == table_style::markdown)
    head.emplace_back("where it differs; expected is what the natural arm came to");
  if (!rows.empty()) print_table(out, head, rows, style);
  std::vector<std::string> words;
  for (const auto& [verdict, count] : counts) words.push_back(fmt::format("{} {}", count, verdict));
  out << fmt::format(
      "{}: {}\n", plural(twins.size(), "comparison"),
      words.empty() ? "no arm has an injected twin" : fmt::format("{}", fmt::join(words, ", ")));
}

}  // namespace cufault
