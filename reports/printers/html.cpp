// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/html.hpp"

#include "reports/model/cell_name.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/html_assets.hpp"
#include "reports/printers/html_text.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

// What each part may take of html_limit; all arms get what the others leave.
constexpr std::size_t room_for_stacks = 150'000, room_for_unexpected = 400'000, room_for_matrix = 1'350'000,
                      room_for_memory = 100'000, room_for_atlas = 100'000, room_for_claims = 250'000,
                      room_for_frame = 10'000;
constexpr std::size_t longest_seen =
    140;  // of characters: with 160 not all recorded arms fit below html_limit

std::string line_of(const std::string& source) {
  const auto colon = source.rfind(':');
  return colon == std::string::npos ? "1" : html_escaped(source.substr(colon + 1));
}

/// "records/a.jsonl:7" as a link to the file.
std::string evidence(const std::string& source) {
  if (source.empty()) return {};
  return fmt::format("<a href=\"{}\">line {}</a>", html_escaped(source.substr(0, source.rfind(':'))),
                     line_of(source));
}

/// Likewise as a link to the row of the stack, which has the one to the file: thousands of arms name it. Only the first stack of an arm is a link, the
/// others are their letter and line.
std::string evidence(const std::string& source, std::string_view letter) {
  if (source.empty()) return {};
  return fmt::format("<a href=\"#{0}\">{0}: line {1}</a>", letter, line_of(source));
}

/// What colour goes with a verdict, beside its name.
const char* class_of(verdict v) {
  switch (v) {
    case verdict::ok:
    case verdict::cleared:
      return "right";
    case verdict::reproduced:
    case verdict::still_fails:
    case verdict::diagnosed:
      return "fails";
    case verdict::unresolved:
    case verdict::worsened:
    case verdict::remedy_broken:
      return "worse";
    case verdict::flaky:
    case verdict::changed:
    case verdict::gone:
      return "mixed";
    case verdict::as_predicted:
    case verdict::undefined:
    case verdict::differs:
    case verdict::unrecorded:
    case verdict::absent:
    case verdict::not_provoked:
      break;
  }
  return "unseen";
}

std::string section(const char* id, const char* title, const std::string& body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>\n{2}</section>\n", id, title,
      body);
}

// ---- stacks ----

verdict_counts counts_of(const run_report& run) {
  verdict_counts counts;
  for (const report_arm& a : run.arms) ++counts[rank(a.judged)];
  return counts;
}

std::string keys_text(const stack_keys& keys) {
  std::vector<std::string> words;
  for (const auto& [key, value] : keys) words.push_back(fmt::format("{} {}", key, value));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string stacks_section(const report& r) {
  std::vector<std::string> rows;
  for (const report::stack& s : r.stacks)
    rows.push_back(fmt::format(
        "<tr id=\"{}\"><th "
        "scope=\"row\">{}</th><td>{}<details><summary>keys</summary><small>{}</small></details></"
        "td><td>{}<small>{}{}</small></td>"
        "<td>{}</td><td>{}</td><td><a href=\"{}\">observations</a></td></tr>\n",
        s.letter, s.letter, html_escaped(s.run.stack), html_shortened(keys_text(s.keys), 2000), s.runs,
        html_escaped(s.latest), s.runs > 1 ? html_escaped(fmt::format("; the first {}", s.first)) : "",
        s.run.arms.size(), text_of(counts_of(s.run)), html_escaped(s.file)));
  std::string body =
      html_table("Stacks; of each arm the latest run that observed it counts",
                 {"letter", "stack", "records", "arms", "verdicts", "files"}, rows, room_for_stacks / 2);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    body += fmt::format("<h3>{}</h3><ul>\n", title);
    std::size_t left = lines.size();
    for (const std::string& line : lines) {
      if (body.size() > room_for_stacks) break;
      body += fmt::format("<li>{}</li>\n", html_shortened(line, 500));
      --left;
    }
    body += left > 0 ? fmt::format("<li>and {} more</li></ul>\n", left) : "</ul>\n";
  };
  list("Files that could not be read", r.unread);
  list("Runs that did not come to their end", r.incomplete);
  return section("stacks", "Stacks", body);
}

// ---- arms ----

/// Arms of several stacks that came to the same.
struct joined_row {
  const report_arm* arm = nullptr;
  std::vector<std::string> letters{};
  std::vector<std::string> sources{};
};

std::vector<joined_row> joined_rows(const report& r) {
  std::map<std::tuple<std::string, std::string, std::size_t, std::string, std::string, std::string>,
           joined_row>
      rows;
  for (const report::stack& s : r.stacks)
    for (const report_arm& a : s.run.arms) {
      joined_row& row = rows[{a.case_name, a.arm, rank(a.judged), a.seen, a.why, a.cost}];
      if (row.arm == nullptr) row.arm = &a;
      row.letters.push_back(s.letter);
      row.sources.push_back(a.source);
    }
  std::vector<joined_row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

std::string arm_row(const joined_row& row, bool whole_name) {
  const report_arm& a = *row.arm;
  constexpr std::size_t most_links = 8;
  std::vector<std::string> links;
  for (std::size_t i = 0; i < row.sources.size() && i < most_links; ++i)
    links.push_back(i == 0 ? evidence(row.sources[i], row.letters[i])
                           : fmt::format("{}: {}", row.letters[i], line_of(row.sources[i])));
  if (row.sources.size() > most_links) links.emplace_back("and more");
  std::string notes;
  // The reason is not repeated where the section "What is unexpected" or the heading of the table states it.
  const bool said = (!whole_name && !advices[rank(a.judged)].asks.empty()) || a.judged == verdict::unrecorded;
  if (!said && !a.why.empty() && a.seen.find(a.why) == a.seen.npos)
    notes += fmt::format("<small>{}</small>", html_shortened(a.why, 2 * longest_seen));
  if (!a.cost.empty()) notes += fmt::format("<small>{}</small>", html_escaped(a.cost));
  if (a.otherwise > 0)
    notes += fmt::format("<small>something else in {} of {} runs: see cufault history</small>", a.otherwise,
                         a.runs);
  // The script in html_assets.hpp reads verdict and stacks from here.
  return fmt::format(
      "<tr data-f><th scope=\"row\">{1}<small>{2}</small></th><td><span class=\"tag {3}\">{0}</span>"
      "<small>{4}: {5}</small></td><td>{6}{7}<small>record {8} · <code>{9}</code></small></td></tr>\n",
      to_string(a.judged), html_escaped(whole_name ? join_key(a.case_name, a.arm) : a.arm),
      html_escaped(a.made_up ? a.kind + ", made up" : a.kind), class_of(a.judged),
      row.letters.size() == 1 ? "stack" : "stacks", fmt::join(row.letters, ", "),
      html_shortened(a.seen, longest_seen), notes, fmt::join(links, ", "), html_escaped(a.repeat));
}

const std::vector<std::string>& arm_head() {
  static const std::vector<std::string> head{"arm", "verdict",
                                             "what was seen, the evidence, and how to repeat it"};
  return head;
}

/// Cells of which nothing is expected, and those whose remedy was not tried, hundreds of them, are in the section of the matrix: most are of faults
/// whose outcome is not defined, or behind which no operation can be prepared.
bool is_counted_only(const report_arm& a) {
  if (a.otherwise != 0 || !a.case_name.starts_with(matrix_family)) return false;
  const auto cell = cell_named(a.arm);
  return cell && (a.judged == verdict::unrecorded || a.judged == verdict::undefined ||
                  (a.judged == verdict::not_provoked && !cell->remedy.empty()));
}

std::string counted_only(const std::map<std::string, std::size_t>& cells_by_case) {
  constexpr std::size_t most_cases = 100;
  std::vector<std::string> counts;
  for (const auto& [name, cells] : cells_by_case) {
    if (counts.size() == most_cases) {
      counts.push_back(plural(cells_by_case.size() - most_cases, "more case"));
      break;
    }
    counts.push_back(fmt::format("{} ({})", html_shortened(name, 200), cells));
  }
  return fmt::format(
      "<p>Cells of the <a href=\"#matrix\">matrix</a>: {}. <code>cufault show FOLDER CASE</code> prints what "
      "was seen in each.</p>\n",
      fmt::join(counts, ", "));
}

std::string unexpected_section(const std::vector<joined_row>& rows, std::size_t arms) {
  std::map<std::size_t, std::vector<std::string>> by_rank;
  std::map<std::size_t, std::map<std::string, std::size_t>> counted_cells;
  for (const joined_row& row : rows) {
    if (advices[rank(row.arm->judged)].asks.empty()) continue;
    auto& texts = by_rank[rank(row.arm->judged)];
    if (is_counted_only(*row.arm))
      counted_cells[rank(row.arm->judged)][row.arm->case_name] += row.letters.size();
    else
      texts.push_back(arm_row(row, true));
  }
  std::string body;
  if (arms == 0) body = "<p>No arm ran: a run in which nothing ran is not green.</p>\n";
  if (arms > 0 && by_rank.empty())
    body = fmt::format("<p>Nothing: {} did as expected.</p>\n", plural(arms, "arm"));
  for (const auto& [at, texts] : by_rank) {
    body += fmt::format("<h3>{}: {}</h3>\n", to_string(advices[at].v), html_escaped(advices[at].asks));
    if (counted_cells.contains(at)) body += counted_only(counted_cells.at(at));
    const std::size_t room = body.size() < room_for_unexpected ? room_for_unexpected - body.size() : 0;
    if (!texts.empty()) body += html_table(to_string(advices[at].v), arm_head(), texts, room, "arms");
  }
  return section("unexpected", "What is unexpected", body);
}

std::string arms_section(const std::vector<joined_row>& all, std::size_t room) {
  // Cells have a section of their own.
  std::vector<joined_row> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [](const joined_row& r) { return !r.arm->case_name.starts_with(matrix_family); });
  std::string body;
  if (rows.size() < all.size())
    body = fmt::format(
        "<p>Not listed here: {} of the matrix, which has a section. Unexpected ones are above, too; those "
        "that are "
        "NEW or UNDEFINED are counted there.</p>\n",
        plural(all.size() - rows.size(), "cell"));
  std::size_t left = rows.size();
  for (auto first = rows.begin(); first != rows.end();) {
    const std::string& name = first->arm->case_name;
    const auto last =
        std::find_if(first, rows.end(), [&](const joined_row& r) { return r.arm->case_name != name; });
    std::vector<std::string> texts;
    std::size_t size = 400 + 2 * name.size();
    for (auto row = first; row != last; ++row) {
      texts.push_back(arm_row(*row, false));
      size += texts.back().size();
    }
    if (body.size() + size > room) break;
    verdict_counts counts;
    for (auto row = first; row != last; ++row) counts[rank(row->arm->judged)] += row->letters.size();
    body += fmt::format("<details class=\"case\" data-c=\"{0}\"><summary>{0}: {1}</summary>{2}</details>\n",
                        html_escaped(name), text_of(counts), html_table("", arm_head(), texts, room, "arms"));
    left -= texts.size();
    first = last;
  }
  if (left > 0)
    body += fmt::format(
        "<p>{} more do not fit here: the records beside this page have them; <code>cufault show</code> "
        "prints them.</p>\n",
        plural(left, "arm"));
  return section("arms", "All arms, by case", body);
}

// ---- the matrix ----

struct look {
  const char* css;
  const char* symbol;
  const char* means;
};
constexpr look right_look{"right", "✓", "succeeded, with right numbers"},
    fails_look{"fails", "✕", "a status other than success"},
    worse_look{"worse", "‼", "a crash, a hang or wrong numbers"},
    mixed_look{"mixed", "≈", "differs from trial to trial"},
    unseen_look{"unseen", "?", "could not be observed"};

look look_of(const observed_cell& c) {
  if (!was_observed(c)) return unseen_look;
  if (c.outcome.size() > 1) return mixed_look;
  const std::string& word = c.outcome.begin()->first;
  if (word == "SUCCESS") return right_look;
  const bool worse = word == "WRONG_NUMBERS" || word.starts_with("SIG") || word == status_timed_out ||
                     word == status_crashed || word == status_exited;
  return worse ? worse_look : fails_look;
}

/// A row of the matrix: what varies beside the operation.
using matrix_row = std::tuple<std::string, std::string, std::string,
                              std::optional<std::int64_t>>;  // fault, state, timing, level

std::string detail(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("<small>{}: {}</small>", name, html_shortened(text, 300));
}

std::string repeat_line(const observed_cell& c) {
  return fmt::format("<small>record {} · <code>{}</code></small>", evidence(c.source),
                     html_escaped(repeats(c)));
}

/// What stands at one place: the cell without a remedy, which may be absent, and those with one.
struct cells_here {
  const observed_cell* plain = nullptr;
  std::vector<const observed_cell*> remedies{};
};

/// A cell without a measurement is a td without a class, to save room: there are thousands. The style sheet finds it as .matrix td:not([class]).
std::string cell_of_matrix(const cells_here& here, bool with_evidence) {
  std::string more;
  for (const observed_cell* c : here.remedies)
    more += detail(fmt::format("remedy {}", html_escaped(c->at.remedy)),
                   was_observed(*c) ? shown_outcome(*c) : "not observed: " + c->why_not) +
            repeat_line(*c);
  if (here.plain == nullptr) {
    const std::string only_remedies =
        more.empty() || !with_evidence
            ? ""
            : fmt::format("<details><summary>with a remedy only</summary>{}</details>", more);
    return fmt::format("<td>-{}</td>", only_remedies);
  }
  const observed_cell& c = *here.plain;
  const look l = look_of(c);
  const std::string word = html_shortened(was_observed(c) ? describe(c.outcome) : "not observed", 100);
  if (!with_evidence) return fmt::format("<td class=\"{}\">{} {}</td>", l.css, l.symbol, word);
  const std::string facts = detail("of trials", c.outcome.size() > 1 ? with_rates(c.outcome) : "") +
                            detail("why", c.why_not) + detail("context afterwards", c.context) +
                            detail("of the operation", describe(c.facts)) + detail("run", c.run);
  return fmt::format("<td class=\"{}\"><details><summary>{} {}{}</summary>{}{}{}</details></td>", l.css,
                     l.symbol, word, c.made_up ? " (made up)" : "", facts, repeat_line(c), more);
}

std::string matrix_of_stack(const stack_matrix& m, std::size_t room) {
  constexpr std::size_t most_operations = 150;
  std::set<std::string> operations;
  std::map<matrix_row, std::map<std::string, cells_here>> rows;
  for (const observed_cell& c : m.cells) {
    if (operations.size() == most_operations && !operations.contains(c.at.operation)) continue;
    operations.insert(c.at.operation);
    cells_here& here = rows[{c.fault, c.at.state, c.at.timing, c.at.level}][c.at.operation];
    if (c.at.remedy.empty())
      here.plain = &c;
    else
      here.remedies.push_back(&c);
  }
  std::vector<std::string> head{"fault"};
  head.insert(head.end(), operations.begin(), operations.end());
  const auto write = [&](bool with_evidence) {
    std::vector<std::string> texts;
    for (const auto& [key, cells] : rows) {
      const auto& [fault, state, timing, level] = key;
      std::vector<std::string> words{state};
      if (!timing.empty()) words.push_back(timing);
      if (level) words.push_back(fmt::format("level {}", *level));
      std::string text =
          fmt::format("<tr data-f><th scope=\"row\">{}<small>{}</small></th>", html_escaped(fault),
                      html_escaped(fmt::format("{}", fmt::join(words, ", "))));
      for (const std::string& o : operations) {
        const auto here = cells.find(o);
        text += cell_of_matrix(here == cells.end() ? cells_here{} : here->second, with_evidence);
      }
      texts.push_back(text + "</tr>\n");
    }
    return texts;
  };
  const auto size = [](const std::vector<std::string>& texts) {
    std::size_t sum = 0;
    for (const auto& t : texts) sum += t.size();
    return sum;
  };
  std::vector<std::string> texts = write(true);
  std::string note;
  if (size(texts) > room) {
    texts = write(false);
    note =
        "<p>The evidence of each cell does not fit here: <code>cufault matrix --format csv</code> has "
        "it.</p>\n";
  }
  const auto remedy_cells =
      std::count_if(m.cells.begin(), m.cells.end(), [](const auto& c) { return !c.at.remedy.empty(); });
  return fmt::format("<h3>{}</h3><p>{}, {} with a remedy.</p>\n", html_escaped(m.stack),
                     plural(m.cells.size(), "cell"), remedy_cells) +
         note + html_table("", head, texts, room, "matrix");
}

std::string section_of_matrix(const report& r) {
  if (r.matrix.empty())
    return section("matrix", "Matrix",
                   "<p>Not measured: these records have no cell of the matrix. <code>cufault run "
                   "matrix</code> measures them.</p>\n");
  std::string body =
      "<p>Faults down, operations across. Each cell says what the operation came to. Open it for "
      "the evidence and the line that repeats it, where the page has room for the evidence of its "
      "stack.</p><ul "
      "class=\"key\">";
  for (const look& l : {right_look, fails_look, worse_look, mixed_look, unseen_look})
    body += fmt::format("<li><span class=\"tag {}\">{}</span> {}</li>", l.css, l.symbol, l.means);
  body += "<li><span class=\"tag none\">-</span> not measured</li></ul>\n";
  std::size_t room = room_for_matrix, left = r.matrix.size();
  for (const stack_matrix& m : r.matrix) {
    const std::string text = matrix_of_stack(m, room / left--);
    room -= std::min(room, text.size());
    body += text;
  }
  return section("matrix", "Matrix", body);
}

// ---- claims ----

/// Letters of the stacks that a label is of: several, where they differ by their second cuBLAS alone.
std::string letters_of_label(const report& r, const std::string& label) {
  std::vector<std::string> letters;
  for (const report::stack& s : r.stacks)
    if (s.run.stack == label || s.run.stack.starts_with(label + ", other cuBLAS "))
      letters.push_back(s.letter);
  return letters.empty() ? label : fmt::format("{}", fmt::join(letters, " or "));
}

std::string claims_section(const report& r) {
  std::vector<std::string> rows;
  std::map<std::string, std::size_t> counts;
  for (const claim_verdict& v : r.claims) {
    ++counts[v.verdict];
    // made up, says -> arm, with what it costs -> stacks
    std::map<std::pair<bool, std::string>, std::map<std::string, std::set<std::string>>> by_word;
    for (const claim_evidence& e : v.evidence) {
      std::string name = join_key(e.case_name, e.arm);
      const std::string cost = e.clears ? note_of(r.costs, e.stack, remedy_of_arm(name)) : std::string();
      if (!cost.empty()) name += fmt::format(" [{}]", cost);
      by_word[{e.made_up, e.says}][name].insert(letters_of_label(r, e.stack));
    }
    std::string more;
    for (const auto& [word, arms] : by_word) {
      const auto& [made_up, says] = word;
      std::vector<std::string> names;
      for (const auto& [name, stacks] : arms)
        names.push_back(fmt::format("{} ({})", name, fmt::join(stacks, ", ")));
      more += fmt::format("<small>{}{} by {}</small>", made_up ? "made up: " : "", html_escaped(says),
                          html_shortened(fmt::format("{}", fmt::join(names, "; ")), 2000));
    }
    if (more.empty() && !v.what.untestable.empty())
      more = fmt::format("<small>{}</small>", html_shortened(v.what.untestable, 500));
    if (!v.evidence.empty())
      more = fmt::format("<details><summary>{}</summary>{}</details>",
                         plural(v.evidence.size(), "observation"), more);
    rows.push_back(
        fmt::format("<tr data-f><th scope=\"row\">{}<small>{}</small></th><td>{}</td><td>{}{}</td></tr>\n",
                    html_escaped(v.what.id), to_string(v.what.kind), html_escaped(v.verdict),
                    html_shortened(v.what.text, 600), more));
  }
  std::vector<std::string> words;
  for (const auto& [verdict, count] : counts) words.push_back(fmt::format("{} {}", count, verdict));
  if (rows.empty()) return section("claims", "Claims", "<p>No claims were given.</p>\n");
  return section("claims", "Claims",
                 fmt::format("<p>What documents say, judged by these records: {}.</p>\n",
                             html_escaped(fmt::format("{}", fmt::join(words, ", ")))) +
                     html_table("", {"claim", "verdict", "what it says, and what speaks to it"}, rows,
                                room_for_claims, "arms"));
}

std::string filter_form(const report& r) {
  std::set<std::pair<std::size_t, std::string>> verdicts;
  for (const report::stack& s : r.stacks)
    for (const report_arm& a : s.run.arms) verdicts.insert({rank(a.judged), to_string(a.judged)});
  std::string text =
      "<form id=\"filter\" role=\"search\" aria-label=\"Filter\" hidden><div><label "
      "for=\"q\">Words</label><input id=\"q\" name=\"q\" "
      "type=\"search\" autocomplete=\"off\"></div><div><label for=\"v\">Verdict</label><select id=\"v\" "
      "name=\"v\"><option value=\"\">any"
      "</option>";
  for (const auto& [at, name] : verdicts) text += fmt::format("<option>{}</option>", name);
  text +=
      "</select></div><div><label for=\"s\">Stack</label><select id=\"s\" name=\"s\"><option "
      "value=\"\">any</option>";
  constexpr std::size_t most_options = 100;
  for (const report::stack& s : std::span{r.stacks}.first(std::min(r.stacks.size(), most_options)))
    text += fmt::format("<option value=\"{0}\">{0}: {1}</option>", s.letter, html_shortened(s.run.stack, 60));
  return text +
         "</select></div><button type=\"reset\">Clear</button><output id=\"found\" "
         "aria-live=\"polite\"></output></form>\n";
}

}  // namespace

std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::string>& rows, std::size_t room, const std::string& classes) {
  std::string text = fmt::format(
      "<div class=\"scroll {}\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>", classes,
      html_escaped(caption.empty() ? fmt::format("Table of {}", head.front()) : caption));
  if (!caption.empty()) text += fmt::format("<caption class=\"sr\">{}</caption>", html_escaped(caption));
  text += "<thead><tr>";
  for (const std::string& h : head) text += fmt::format("<th scope=\"col\">{}</th>", html_escaped(h));
  text += "</tr></thead><tbody>\n";
  std::size_t left = rows.size();
  for (const std::string& row : rows) {
    if (text.size() + row.size() + 200 > room) break;
    text += row;
    --left;
  }
  text += "</tbody></table></div>\n";
  if (left > 0) text += fmt::format("<p>{} more do not fit here.</p>\n", plural(left, "row"));
  return text;
}

std::string html_page(const report& r) {
  const std::vector<joined_row> rows = joined_rows(r);
  std::size_t arms = 0;
  verdict_counts counts;
  for (const report::stack& s : r.stacks) {
    arms += s.run.arms.size();
    for (const auto& [at, n] : counts_of(s.run)) counts[at] += n;
  }
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; "
      "img-src data:\"><link rel=\"icon\" href=\"data:,\"><title>cufault report: "
      "{0}</title><style>{1}</style></head>\n<body>"
      "<a class=\"skip\" href=\"#unexpected\">Skip to what is unexpected</a>\n<header><h1>cufault "
      "report</h1><p>{2} of {3}: {0}</p>"
      "<nav aria-label=\"Sections\"><ul><li><a href=\"#stacks\">Stacks</a></li><li><a "
      "href=\"#unexpected\">Unexpected</a></li><li>"
      "<a href=\"#matrix\">Matrix</a></li><li><a href=\"#memory\">Memory</a></li><li><a "
      "href=\"#atlas\">Atlas</a></li><li><a href=\"#claims\">"
      "Claims</a></li><li><a href=\"#arms\">All arms</a></li></ul></nav></header>\n<main>\n",
      arms == 0 ? "no arm ran" : text_of(counts), html_assets::style, plural(arms, "arm"),
      plural(r.stacks.size(), "stack"));
  page += stacks_section(r);
  page += filter_form(r);
  page += unexpected_section(rows, arms);
  page += section_of_matrix(r);
  page += section("memory", "Memory", html_memory(r, room_for_memory));
  page += section("atlas", "Atlas: what a failed driver call leads to", html_atlas(r, room_for_atlas));
  page += claims_section(r);
  page += arms_section(rows, html_limit - std::min(html_limit, page.size() + room_for_frame));
  return page + fmt::format(
                    "</main>\n<footer><p>Made by cufault from records; the observations are beside this "
                    "page. No request leaves "
                    "it.</p></footer>\n<script>{}</script></body></html>\n",
                    html_assets::script);
}

}  // namespace cufault
