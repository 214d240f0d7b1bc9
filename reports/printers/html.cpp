// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The report as one page that asks for nothing from elsewhere. What changed and what is red come first. html/*.html have the markup; here is what they
// show. Below html_limit: rows that do not fit are counted, and are in the records beside the page.
#include "reports/model/cell_name.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/html_templates.hpp"
#include "reports/printers/html_text.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <kainjow/mustache.hpp>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

using nlohmann::json;

// What each part may take of html_limit; all arms get what the others leave.
constexpr std::size_t room_for_change = 150'000, room_for_red = 250'000, room_for_trends = 80'000,
                      room_for_stacks = 100'000, room_for_unjudged = 100'000, room_for_memory = 60'000,
                      room_for_atlas = 90'000, room_for_claims = 200'000, room_for_matrix = 500'000,
                      room_for_frame = 30'000;
constexpr std::size_t longest_seen = 140;  // of characters, in tables of thousands of rows

// ---- templates ----

/// What is empty is false to a template.
kainjow::mustache::data data_of(const json& j) {
  using kainjow::mustache::data;
  if (j.is_object()) {
    data all;
    for (const auto& [key, value] : j.items()) all[key] = data_of(value);
    return all;
  }
  if (j.is_array()) {
    data all(data::type::list);
    for (const json& value : j) all << data_of(value);
    return all;
  }
  if (j.is_string())
    if (const auto& text = j.get_ref<const std::string&>(); !text.empty()) return {text};
  return j.is_number() ? data(j.dump()) : data(j.is_boolean() && j.get<bool>());
}

class html_template {
 public:
  explicit html_template(const char* text) : parsed_(std::string(text)) {
    if (!parsed_.is_valid()) throw std::logic_error(parsed_.error_message());
    parsed_.set_custom_escape([](const std::string& value) { return html_escaped(value); });
  }
  std::string operator()(const json& model) { return parsed_.render(data_of(model)); }

 private:
  kainjow::mustache::mustache parsed_;
};

/// Takes what the rows need from `room`; the others are counted.
json table_block(const std::string& caption, const std::vector<std::string>& head,
                 const std::vector<json>& rows, std::size_t& room, const char* classes = "arms") {
  static html_template row_template(html_templates::row);
  std::string text;
  std::size_t left = rows.size();
  room -= std::min<std::size_t>(room, 600);  // the frame of the table
  for (const json& row : rows) {
    const std::string one = row_template(row);
    if (one.size() > room) break;
    room -= one.size();
    text += one;
    --left;
  }
  if (!text.empty()) text.pop_back();  // its last line break
  json table{{"caption", caption}, {"head", head}, {"classes", classes}, {"rows", std::move(text)}};
  if (left > 0) table["left"] = plural(left, "row");
  return {{"table", std::move(table)}};
}

json folded(json block, const std::string& summary) {
  block["table"]["folded"] = summary;
  return block;
}

json section(const char* id, const char* short_title, const char* title, std::vector<json> blocks) {
  return {{"id", id}, {"short", short_title}, {"title", title}, {"blocks", std::move(blocks)}};
}

json line_block(std::string text, const char* code = "") {
  return {{"text", {{"says", std::move(text)}, {"code", code}}}};
}

json list_block(const std::vector<std::string>& lines, std::size_t most) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) shown.push_back(beginning_of(lines[i], 500));
  if (lines.size() > most) shown.push_back(fmt::format("and {} more", lines.size() - most));
  return {{"lines", {{"entries", shown}}}};
}

json note(std::string text, const std::string& code = "") {
  return {{"says", std::move(text)}, {"runs", code}};
}

json text_cell(std::string text) {
  return {{"text", std::move(text)}};
}

// ---- charts ----

/// Rows of bars; each of them has its place between 0 and 1, and what it says.
class bar_chart {
 public:
  /// With several lanes each bar of the row has its own, one below another.
  void row(const std::string& label, std::size_t lanes = 1) {
    y_ += row_height;
    text(label_width - 8, y_ - 6, "end", beginning_of(label, 54));
    lane_ = 0;
    lanes_ = lanes;
  }
  /// `word`: on the bar, where it fits.
  void bar(const char* look, double from, double to, std::string says, const std::string& word = "") {
    const double tall = (row_height - 4.0) / static_cast<double>(lanes_);
    const double x = at(from), w = std::max(at(to) - x, 0.5);
    model_["bars"].push_back(
        {{"look", look},
         {"x", fmt::format("{:.1f}", x)},
         {"y", fmt::format("{:.1f}", y_ - row_height + 2 + tall * static_cast<double>(lane_))},
         {"width", fmt::format("{:.1f}", w)},
         {"tall", fmt::format("{:.1f}", tall)},
         {"says", std::move(says)}});
    if (lanes_ > 1) ++lane_;
    // A character is about 7 wide.
    if (!word.empty() && w > 7.0 * static_cast<double>(word.size()) + 8)
      text(x + 4, y_ - 6, "start", word, "dark");
  }
  void tick(double part, const std::string& label) { text(at(part), y_ + 16, "middle", label); }
  void legend(const std::string& label) { text(width - 10, y_ + 34, "end", label); }
  [[nodiscard]] bool empty() const { return y_ == 0; }
  [[nodiscard]] bool full() const { return y_ >= 60 * row_height; }
  /// Nothing where it does not fit.
  json block(const std::string& title, std::size_t& room) {
    static html_template chart_template(html_templates::chart);
    model_["title"] = title;
    model_["height"] = fmt::format("{:.0f}", y_ + 42);
    std::string text = chart_template(model_);
    if (text.size() > room) return json::object();
    room -= text.size();
    text.pop_back();  // its line break
    return {{"chart", std::move(text)}};
  }

 private:
  static constexpr double width = 960, label_width = 420;
  static constexpr int row_height = 20;
  static double at(double part) {
    return label_width + (width - label_width - 10) * (std::isfinite(part) ? std::clamp(part, 0.0, 1.0) : 0);
  }
  void text(double x, double y, const char* anchor, std::string says, const char* css = "") {
    model_["texts"].push_back({{"x", fmt::format("{:.1f}", x)},
                               {"y", fmt::format("{:.0f}", y)},
                               {"anchor", anchor},
                               {"css", css},
                               {"says", std::move(says)}});
  }
  json model_{{"bars", json::array()}, {"texts", json::array()}};
  double y_ = 0;
  std::size_t lane_ = 0, lanes_ = 1;
};

// ---- words ----

std::string line_of(const std::string& source) {
  const auto colon = source.rfind(':');
  return colon == std::string::npos ? "1" : source.substr(colon + 1);
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

verdict_counts counts_of(const run_report& run) {
  verdict_counts counts;
  for (const report_arm& a : run.arms) ++counts[rank(a.judged)];
  return counts;
}

// ---- arms ----

/// Arms of several stacks that came to the same.
struct joined_row {
  const report_arm* arm = nullptr;
  std::vector<std::size_t> stacks{};  // indexes
};

std::vector<joined_row> joined_rows(const report& r) {
  std::map<std::tuple<std::string, std::string, std::size_t, std::string, std::string, std::string>,
           joined_row>
      rows;
  for (std::size_t i = 0; i < r.stacks.size(); ++i)
    for (const report_arm& a : r.stacks[i].run.arms) {
      joined_row& row = rows[{a.case_name, a.arm, rank(a.judged), a.seen, a.why, a.cost}];
      if (row.arm == nullptr) row.arm = &a;
      row.stacks.push_back(i);
    }
  std::vector<joined_row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

/// "a–d, f": dozens of stacks stay readable.
std::string letters(const report& r, const std::vector<std::size_t>& stacks) {
  std::string text;
  for (std::size_t i = 0; i < stacks.size();) {
    std::size_t last = i;
    while (last + 1 < stacks.size() && stacks[last + 1] == stacks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", r.stacks[stacks[i]].letter);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "–", r.stacks[stacks[last]].letter);
    i = last + 1;
  }
  return text;
}

const std::vector<std::string> arm_head{"arm", "verdict, on which stacks", "what was seen, and the evidence"};

/// `alone`: outside of the table of its case. Then it has its whole name, and the line that repeats it.
json arm_row(const report& r, const joined_row& row, bool alone) {
  const report_arm& a = *row.arm;
  std::vector<json> notes;
  const bool said = !alone && !advices[rank(a.judged)].asks.empty();  // above
  if (!said && a.judged != verdict::unrecorded && !a.why.empty() && a.seen.find(a.why) == a.seen.npos)
    notes.push_back(note(beginning_of(a.why, (alone ? 4 : 2) * longest_seen)));
  if (!a.cost.empty()) notes.push_back(note(a.cost));
  if (a.otherwise > 0)
    notes.push_back(
        note(fmt::format("something else in {} of {} runs: see cufault history", a.otherwise, a.runs)));
  json record = note(a.source.empty() ? "" : "record", alone ? a.repeat : "");
  if (!a.source.empty()) {
    const std::string& letter = r.stacks[row.stacks[0]].letter;
    record["to"] = "#" + letter;
    record["at"] = fmt::format("{}: line {}", letter, line_of(a.source));
  }
  if (alone || !a.source.empty()) notes.push_back(std::move(record));
  // The script of the page reads verdict and stacks from here.
  return {{"name", alone ? join_key(a.case_name, a.arm) : a.arm},
          {"under", a.made_up ? a.kind + ", made up" : a.kind},
          {"cells",
           {{{"tag", to_string(a.judged)},
             {"look", class_of(a.judged)},
             {"notes",
              {note(fmt::format("{}: {}", row.stacks.size() == 1 ? "stack" : "stacks",
                                letters(r, row.stacks)))}}},
            {{"text", beginning_of(a.seen, longest_seen)}, {"notes", notes}}}}};
}

/// Cells of which nothing is expected, and those whose remedy was not tried, hundreds of them, are in the section of the matrix: most are of faults
/// whose outcome is not defined, or behind which no operation can be prepared.
bool is_counted_only(const report_arm& a) {
  if (a.otherwise != 0 || !a.case_name.starts_with(matrix_family)) return false;
  const auto cell = cell_named(a.arm);
  return cell && (a.judged == verdict::unrecorded || a.judged == verdict::undefined ||
                  (a.judged == verdict::not_provoked && !cell->remedy.empty()));
}

bool is_red(const report_arm& a) {
  return a.status == test_status::failed || a.status == test_status::error;
}

/// Of arms that ask something of the reader those that are red, or those that are not; by verdict, the worst first.
std::vector<json> by_verdict(const report& r, const std::vector<joined_row>& rows, bool red,
                             std::size_t room) {
  std::map<std::size_t, std::vector<json>> tables;
  std::map<std::size_t, std::map<std::string, std::size_t>> counted;
  for (const joined_row& row : rows) {
    const std::size_t at = rank(row.arm->judged);
    if (advices[at].asks.empty() || is_red(*row.arm) != red) continue;
    if (is_counted_only(*row.arm))
      counted[at][row.arm->case_name] += row.stacks.size();
    else
      tables[at].push_back(arm_row(r, row, true));
    tables[at];
  }
  std::vector<json> blocks;
  for (const auto& [at, of_it] : tables) {
    blocks.push_back({{"heading", fmt::format("{}: {}", to_string(advices[at].v), advices[at].asks)}});
    if (const auto cells = counted.find(at); cells != counted.end()) {
      std::vector<std::string> words;
      constexpr std::size_t most_cases = 100;
      for (const auto& [name, count] : cells->second)
        if (words.size() < most_cases)
          words.push_back(fmt::format("{} ({})", beginning_of(name, 200), count));
      if (cells->second.size() > most_cases)
        words.push_back(plural(cells->second.size() - most_cases, "more case"));
      blocks.push_back(
          line_block(fmt::format("Cells of the matrix: {}. What was seen in each:", fmt::join(words, ", ")),
                     "cufault show FOLDER CASE"));
    }
    if (!of_it.empty()) blocks.push_back(table_block(to_string(advices[at].v), arm_head, of_it, room));
  }
  return blocks;
}

// ---- what changed, and what is red ----

json state_block(const char* look, const char* state, std::string text) {
  return {{"state", state}, {"look", look}, {"of_it", std::move(text)}};
}

json change_section(const report& r, std::size_t arms) {
  std::vector<json> blocks;
  if (arms == 0) {
    blocks.push_back(
        state_block("worse", "‼ NOTHING RAN", "No arm ran: a run in which nothing ran is not green."));
  } else if (!r.change) {
    blocks.push_back(
        state_block("unseen", "? NO GREEN RUN",
                    "No earlier green run is here to compare with; below is what the recorded stacks "
                    "say. To name one:"));
    blocks.push_back(line_block("", "cufault report RECORD --since FOLDER -o DIR"));
  } else {
    std::size_t room = room_for_change;
    const report_change& c = *r.change;
    const bool same = c.changed == 0;
    blocks.push_back(state_block(
        same ? "right" : "worse", same ? "✓ NOTHING CHANGED" : "✕ CHANGED",
        fmt::format("{} of {} on stack {}", c.changed, plural(c.same + c.changed, "arm"), c.letter)));
    blocks.push_back(line_block(change_line(c)));
    std::vector<json> rows;
    for (const report_change::group& g : c.groups) {
      const verdict v = g.what.found.v;
      std::vector<json> more;
      if (g.arms.size() > 1)
        more.push_back(note(
            beginning_of(fmt::format("alike: {}", fmt::join(std::span(g.arms).subspan(1), ", ")), 2000)));
      for (const auto& [when, seen] : {std::pair{"before", g.what.seen[0]}, {"now", g.what.seen[1]}})
        more.push_back(
            note(fmt::format("{}: {}", when, beginning_of(seen.empty() ? "not observed" : seen, 400))));
      rows.push_back({{"name", join_key(g.what.case_name, g.what.arm)},
                      {"under", beginning_of(g.what.summary, 200)},
                      {"cells",
                       {{{"tag", to_string(v)},
                         {"look", class_of(v)},
                         {"notes",
                          {note("stack: " + c.letter),
                           note(g.arms.size() == 1 ? "" : fmt::format("and {} alike", g.arms.size() - 1))}}},
                        {{"text", beginning_of(g.what.found.why, 300)}, {"notes", {note("", g.repeat)}}},
                        {{"folded", "what was seen"}, {"notes", std::move(more)}}}}});
    }
    if (!rows.empty())
      blocks.push_back(table_block("What changed",
                                   {"arm", "change", "how, and the line that repeats it", "before and now"},
                                   rows, room));
    if (c.unknown > 0)
      blocks.push_back(
          line_block(fmt::format("{} observed in one of the two only.",
                                 plural(c.unknown, "arm") + (c.unknown == 1 ? " was" : " were"))));
    rows.clear();
    for (const stack_difference& d : c.stacks)
      rows.push_back(
          {{"name", d.name},
           {"cells",
            {text_cell(beginning_of(d.values[0], 200)), text_cell(beginning_of(d.values[1], 200))}}});
    if (!rows.empty())
      blocks.push_back(folded(table_block("What differs between the stacks",
                                          {"of the stack", "last green run", "now"}, rows, room),
                              fmt::format("{} between the stacks", plural(rows.size(), "difference"))));
  }
  return section("changed", "Changed", "What changed since the last green run", std::move(blocks));
}

json red_section(const report& r, const std::vector<joined_row>& rows, std::size_t arms) {
  std::vector<json> blocks = by_verdict(r, rows, true, room_for_red);
  if (blocks.empty() && arms > 0)
    blocks.push_back(state_block("right", "✓ NOTHING IS RED",
                                 fmt::format("None of {} is other than recorded.", plural(arms, "arm"))));
  return section("red", "Red", "What is red, and the line that repeats it", std::move(blocks));
}

// ---- trends ----

/// A row a stack, a bar a run: what it came to.
void put_runs(const report& r, std::vector<json>& blocks, std::size_t& room) {
  constexpr std::size_t most_runs = 120;
  std::vector<const report_run*> runs;
  for (const report_run& run : r.runs)
    if (!run.filed) runs.push_back(&run);
  if (runs.size() < 2) return;
  if (runs.size() > most_runs) runs.erase(runs.begin(), runs.end() - most_runs);
  std::map<std::string, std::vector<std::size_t>> by_stack;
  for (std::size_t i = 0; i < runs.size(); ++i) by_stack[runs[i]->stack].push_back(i);
  bar_chart chart;
  const double part = 1.0 / static_cast<double>(runs.size());
  for (const auto& [stack, of_it] : by_stack) {
    if (chart.full()) break;
    chart.row(stack);
    for (const std::size_t i : of_it) {
      const report_run& run = *runs[i];
      const bool ended = run.complete && run.exit_code == 0;
      chart.bar(ended                ? "right"
                : run.exit_code == 1 ? "mixed"
                                     : "worse",
                part * static_cast<double>(i), part * static_cast<double>(i + 1),
                fmt::format("{}: exit code {}, {}{}", run.started, run.exit_code, plural(run.arms, "arm"),
                            run.complete ? "" : ", did not come to its end"),
                ended ? "✓" : "✕");
    }
  }
  chart.tick(0, runs.front()->started.substr(0, 10));
  chart.tick(1, runs.back()->started.substr(0, 10));
  blocks.push_back({{"heading", "Runs"}});
  blocks.push_back(line_block("A bar is a run, in the order of their starts: ✓ exit code 0."));
  blocks.push_back(chart.block("Exit codes of runs", room));
}

/// Arms that did not always show the same on a stack: a band a result, from its first run to its last. Those that race, if their rate changed.
void put_history(const report& r, std::vector<json>& blocks, std::size_t& room) {
  const history_view& h = *r.history;
  const auto begin = milliseconds_of(h.first);
  const auto whole = std::max<std::int64_t>(milliseconds_of(h.last) - begin, 1);
  const auto part = [&](const std::string& time) {
    return static_cast<double>(milliseconds_of(time) - begin) / static_cast<double>(whole);
  };
  struct varying {
    const history_arm* arm;
    const history_entry* on;
    std::string since;  // when its latest result was first seen
  };
  std::set<std::pair<std::string, std::size_t>> moved;
  for (const history_proposal& p : h.proposals) moved.insert({p.arm, p.stack});
  std::vector<varying> all;
  for (const history_arm& a : h.arms)
    for (const history_entry& e : a.entries)
      if (e.results.size() > 1 && (!e.races || moved.contains({a.name, e.stack}))) {
        const auto latest =
            std::max_element(e.results.begin(), e.results.end(), [](const auto& x, const auto& y) {
              return std::tie(x.last, x.first) < std::tie(y.last, y.first);
            });
        all.push_back({&a, &e, latest->first});
      }
  std::stable_sort(all.begin(), all.end(), [](const varying& a, const varying& b) {
    return std::tuple(a.on->races, b.since) < std::tuple(b.on->races, a.since);
  });
  blocks.push_back({{"heading", "Arms that did not always show the same"}});
  if (all.empty()) {
    blocks.push_back(
        line_block(fmt::format("None in {}, but for arms that race at their rates.", plural(h.runs, "run"))));
    return;
  }
  constexpr std::array looks{"none", "mixed", "fails", "worse"};
  bar_chart chart;
  std::vector<json> rows;
  for (const varying& v : all) {
    std::vector<json> notes;
    for (const history_result& result : v.on->results)
      notes.push_back(
          note(fmt::format("{} to {}: {}, {}: {}", result.first, result.last, plural(result.runs, "run"),
                           plural(result.trials, "trial"), beginning_of(result.seen, longest_seen))));
    rows.push_back(
        {{"name", v.arm->name},
         {"under", h.stacks[v.on->stack].label},
         {"cells",
          {text_cell(v.on->races ? "races" : fmt::format("{} of {} runs differ", v.on->flakes(), v.on->runs)),
           {{"notes", notes}}}}});
    if (chart.full()) continue;
    const std::size_t lanes = std::min(looks.size(), v.on->results.size());
    chart.row(v.arm->name, lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      const history_result& result = v.on->results[i];
      chart.bar(looks[i], part(result.first), std::max(part(result.last), part(result.first) + 0.01),
                fmt::format("{} to {}, {}: {}", result.first, result.last, plural(result.runs, "run"),
                            beginning_of(result.seen, longest_seen)));
    }
  }
  chart.tick(0, h.first.substr(0, 10));
  chart.tick(1, h.last.substr(0, 10));
  blocks.push_back(
      line_block("A bar is a result, from the first run that showed it to the last. The latest change is on "
                 "top; arms that race are last."));
  blocks.push_back(chart.block("Results of arms over time", room));
  blocks.push_back(folded(
      table_block("Results of arms over time", {"arm", "how often", "what it showed, and when"}, rows, room),
      "The numbers"));
}

json trends_section(const report& r) {
  std::vector<json> blocks;
  std::size_t room = room_for_trends;
  put_runs(r, blocks, room);
  if (r.history) put_history(r, blocks, room);
  if (blocks.empty())
    blocks.push_back(line_block("One run shows no trend. To see those of a history:",
                                "cufault report RECORD --history FILE -o DIR"));
  return section("trends", "Trends", "Trends", std::move(blocks));
}

// ---- stacks ----

json stacks_section(const report& r) {
  std::vector<json> rows, options;
  std::size_t room = room_for_stacks / 2;
  for (const report::stack& s : r.stacks) {
    std::vector<std::string> words;
    for (const auto& [key, value] : s.keys) words.push_back(fmt::format("{} {}", key, value));
    std::vector<json> against;
    for (const std::string& line : {s.run.nearest, s.run.predicted})
      if (!line.empty()) against.push_back(note(line));
    rows.push_back(
        {{"id", s.letter},
         {"name", s.letter},
         {"cells",
          {{{"text", s.run.stack}, {"notes", against}},
           {{"folded", "keys"}, {"text", beginning_of(fmt::format("{}", fmt::join(words, ", ")), 2000)}},
           {{"text", s.runs}, {"notes", {note(s.latest + (s.runs > 1 ? "; the first " + s.first : ""))}}},
           text_cell(std::to_string(s.run.arms.size())),
           text_cell(text_of(counts_of(s.run))),
           {{"notes", {{{"to", s.file}, {"at", "observations"}}}}}}}});
    if (options.size() < 100)
      options.push_back({{"letter", s.letter}, {"label", beginning_of(s.run.stack, 60)}});
  }
  std::set<std::pair<std::size_t, std::string>> verdicts;
  for (const report::stack& s : r.stacks)
    for (const report_arm& a : s.run.arms) verdicts.insert({rank(a.judged), to_string(a.judged)});
  std::vector<std::string> names;
  for (const auto& [at, name] : verdicts) names.push_back(name);
  std::vector<json> blocks{
      {{"filter", {{"verdicts", names}, {"stacks", options}}}},
      line_block("Of each arm of a stack the latest run that observed it counts. Below a stack: how it "
                 "compares with the nearest recorded one."),
      table_block("Stacks", {"letter", "stack", "keys", "records", "arms", "verdicts", "files"}, rows, room,
                  "")};
  const auto list = [&](const char* heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    blocks.push_back({{"heading", heading}});
    blocks.push_back(list_block(lines, 40));
  };
  list("Files that could not be read", r.unread);
  list("Runs that did not come to their end", r.incomplete);
  return section("stacks", "Stacks", "Stacks", std::move(blocks));
}

// ---- the matrix ----

struct look {
  const char *css, *symbol, *means;
};
constexpr look right_look{"right", "✓", "succeeded, with right numbers"},
    fails_look{"fails", "✕", "a status other than success"},
    worse_look{"worse", "‼", "a crash, a hang or wrong numbers"},
    mixed_look{"mixed", "≈", "differs from trial to trial"},
    unseen_look{"unseen", "?", "could not be observed"}, no_look{"none", "-", "not measured"};

json keys_block(std::initializer_list<look> looks) {
  std::vector<json> entries;
  for (const look& l : looks) entries.push_back({{"look", l.css}, {"symbol", l.symbol}, {"means", l.means}});
  return {{"keys", {{"entries", entries}}}};
}

look look_of(const observed_cell& c) {
  if (!was_observed(c)) return unseen_look;
  if (c.outcome.size() > 1) return mixed_look;
  const std::string& word = c.outcome.begin()->first;
  if (word == "SUCCESS") return right_look;
  const bool worse = word == "WRONG_NUMBERS" || word.starts_with("SIG") || word == status_timed_out ||
                     word == status_crashed || word == status_exited;
  return worse ? worse_look : fails_look;
}

/// What stands at one place: the cell without a remedy, which may be absent, and those with one.
struct cells_here {
  const observed_cell* plain = nullptr;
  std::vector<const observed_cell*> remedies{};
};

json repeat_note(const observed_cell& c) {
  json line = note("record", repeats(c));
  line["to"] = c.source.substr(0, c.source.rfind(':'));
  line["at"] = "line " + line_of(c.source);
  return line;
}

/// A cell without a measurement has no class, to save room: there are thousands. The style finds it as .matrix td:not([class]).
json cell_of_matrix(const cells_here& here, bool with_evidence) {
  std::vector<json> more;
  const auto detail = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) more.push_back(note(fmt::format("{}: {}", name, beginning_of(text, 300))));
  };
  json cell{{"text", "-"}};
  if (here.plain != nullptr) {
    const observed_cell& c = *here.plain;
    const look l = look_of(c);
    const std::string word = fmt::format(
        "{} {}", l.symbol, beginning_of(was_observed(c) ? describe(c.outcome) : "not observed", 100));
    cell = {{"css", l.css},
            {with_evidence ? "folded" : "text", word + (with_evidence && c.made_up ? " (made up)" : "")}};
    if (!with_evidence) return cell;
    detail("of trials", c.outcome.size() > 1 ? with_rates(c.outcome) : "");
    detail("why", c.why_not);
    detail("context afterwards", c.context);
    detail("of the operation", describe(c.facts));
    detail("run", c.run);
    more.push_back(repeat_note(c));
  } else if (with_evidence && !here.remedies.empty()) {
    cell = {{"folded", "with a remedy only"}};
  }
  if (!with_evidence) return cell;
  for (const observed_cell* c : here.remedies) {
    detail("remedy " + c->at.remedy, was_observed(*c) ? shown_outcome(*c) : "not observed: " + c->why_not);
    more.push_back(repeat_note(*c));
  }
  cell["notes"] = more;
  return cell;
}

/// Nothing where it does not fit.
std::vector<json> matrix_of_stack(const stack_matrix& m, std::size_t& room) {
  constexpr std::size_t most_operations = 150;
  std::set<std::string> operations;
  using matrix_row = std::tuple<std::string, std::string, std::string, std::optional<std::int64_t>>;
  std::map<matrix_row, std::map<std::string, cells_here>>
      rows;  // by fault, state, timing, level; by operation
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
  const auto remedy_cells =
      std::count_if(m.cells.begin(), m.cells.end(), [](const auto& c) { return !c.at.remedy.empty(); });
  for (const bool with_evidence : {true, false}) {
    std::vector<json> shown;
    for (const auto& [key, cells] : rows) {
      const auto& [fault, state, timing, level] = key;
      std::vector<std::string> words{state};
      if (!timing.empty()) words.push_back(timing);
      if (level) words.push_back(fmt::format("level {}", *level));
      json row{
          {"name", fault}, {"under", fmt::format("{}", fmt::join(words, ", "))}, {"cells", json::array()}};
      for (const std::string& o : operations) {
        const auto here = cells.find(o);
        row["cells"].push_back(
            cell_of_matrix(here == cells.end() ? cells_here{} : here->second, with_evidence));
      }
      shown.push_back(std::move(row));
    }
    std::size_t left = with_evidence ? room / 3 : room;  // other stacks are to be shown, too
    const std::size_t before = left;
    json table = table_block("Matrix of " + m.stack, head, shown, left, "matrix");
    if (table["table"].contains("left")) continue;
    room -= before - left;
    std::vector<json> blocks{
        {{"heading", m.stack}},
        line_block(fmt::format("{}, {} with a remedy.", plural(m.cells.size(), "cell"), remedy_cells))};
    if (!with_evidence)
      blocks.push_back(
          line_block("The evidence of each cell does not fit here; it is in", "cufault matrix --format csv"));
    blocks.push_back(std::move(table));
    return blocks;
  }
  return {};
}

json matrix_section(const report& r) {
  if (r.matrix.empty())
    return section("matrix", "Matrix", "Matrix",
                   {line_block("Not measured: these records have no cell of the matrix. It is measured by",
                               "cufault run matrix")});
  std::vector<json> blocks{
      line_block(
          "Faults down, operations across. Each cell says what the operation came to. Open it for the "
          "evidence and the line that repeats it, where the page has room for the evidence of its stack."),
      keys_block({right_look, fails_look, worse_look, mixed_look, unseen_look, no_look})};
  // The stack of the latest run first.
  std::vector<const stack_matrix*> order;
  for (const stack_matrix& m : r.matrix) order.push_back(&m);
  const std::string latest = r.runs.empty() ? "" : r.runs.back().stack;
  std::stable_partition(order.begin(), order.end(),
                        [&](const auto* m) { return latest.starts_with(m->stack); });
  std::size_t room = room_for_matrix;
  std::vector<std::string> left;
  for (const stack_matrix* m : order) {
    auto shown = matrix_of_stack(*m, room);
    if (shown.empty()) left.push_back(m->stack);
    std::move(shown.begin(), shown.end(), std::back_inserter(blocks));
  }
  if (!left.empty()) {
    blocks.push_back(line_block("Matrices of these stacks are not shown, to keep the page small; they are in",
                                "cufault matrix --stack STACK"));
    blocks.push_back(list_block(left, 20));
  }
  return section("matrix", "Matrix", "Matrix", std::move(blocks));
}

// ---- memory ----

void put_edges(const report& r, std::vector<json>& blocks, std::size_t& room) {
  std::map<std::string, std::map<std::tuple<std::string, double, double>, std::vector<std::string>>> by_unit;
  for (const memory_edge& e : r.edges)
    by_unit[e.unit][{e.name, e.largest_failing, e.smallest_succeeding}].push_back(e.stack);
  blocks.push_back({{"heading", "Edges"}});
  if (by_unit.empty()) {
    blocks.push_back(
        line_block("Not measured: no arm of these records has an edge between failure and success."));
    return;
  }
  blocks.push_back(
      line_block("Below the edge an arm fails (✕, left), above it succeeds (✓, right); between the two "
                 "nothing was tried."));
  std::vector<json> rows;
  for (const auto& [unit, edges] : by_unit) {
    double most = 1;
    for (const auto& [edge, stacks] : edges)
      if (std::isfinite(std::get<2>(edge))) most = std::max(most, std::get<2>(edge) * 2);
    const auto at = [&](double value) {
      return std::log2(1 + std::clamp(value, 0.0, most)) / std::log2(1 + most);
    };
    bar_chart chart;
    for (const auto& [edge, stacks] : edges) {
      const auto& [name, fails, succeeds] = edge;
      const std::string of = fmt::format("{}", fmt::join(stacks, ", "));
      rows.push_back({{"name", name},
                      {"cells",
                       {text_cell(of), text_cell(fmt::format("{}", fails)),
                        text_cell(fmt::format("{}", succeeds)), text_cell(beginning_of(unit, 100))}}});
      if (chart.full()) continue;
      chart.row(fmt::format("{} ({})", name, of));
      chart.bar("fails", 0, at(fails), fmt::format("fails up to {}", fails), fmt::format("✕ {}", fails));
      chart.bar("right", at(succeeds), 1, fmt::format("succeeds from {}", succeeds),
                fmt::format("✓ {}", succeeds));
    }
    for (double tick = 1; tick < most; tick *= 4) chart.tick(at(tick), fmt::format("{:.0f}", tick));
    chart.legend(beginning_of(unit, 60) + ", logarithmic");
    blocks.push_back(chart.block("Edges between failure and success, in " + unit, room));
  }
  blocks.push_back(folded(
      table_block("Edges", {"arm", "stacks", "largest failing", "smallest succeeding", "unit"}, rows, room),
      "The numbers"));
}

void put_leaks(const report& r, std::vector<json>& blocks, std::size_t& room) {
  blocks.push_back({{"heading", "Handles that are never destroyed"}});
  if (r.leaks.empty()) {
    blocks.push_back(line_block("Not measured: no arm of these records leaks handles."));
    return;
  }
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::vector<leak_line> lines = r.leaks;
  std::sort(lines.begin(), lines.end(), [](const leak_line& a, const leak_line& b) {
    return std::tie(a.what, a.stack, a.handles, a.bytes_per_handle, a.names) <
           std::tie(b.what, b.stack, b.handles, b.bytes_per_handle, b.names);
  });
  double most = 1;
  for (const leak_line& l : lines)
    if (std::isfinite(l.handles * l.bytes_per_handle)) most = std::max(most, l.handles * l.bytes_per_handle);
  bar_chart chart;
  std::vector<json> rows;
  for (const leak_line& l : lines) {
    const double taken = l.handles * l.bytes_per_handle;
    const std::string words = fmt::format("{} handles, {:.2f} MiB each, {:.2f} GiB in all", l.handles,
                                          l.bytes_per_handle / gib * 1024, taken / gib);
    rows.push_back({{"name", beginning_of(fmt::format("{}", fmt::join(l.names, ", ")), 600)},
                    {"cells",
                     {text_cell(l.stack), text_cell(fmt::format("{}", l.handles)),
                      text_cell(fmt::format("{:.3f}", l.bytes_per_handle / gib * 1024)),
                      text_cell(fmt::format("{:.2f}", taken / gib)), text_cell(beginning_of(l.what, 100))}}});
    if (chart.full()) continue;
    chart.row(fmt::format("{} ({})", l.names.front(), l.stack));
    chart.bar("fails", 0, taken / most, words, words);
  }
  chart.legend(fmt::format(
      "device memory taken until creation failed or the arm stopped; the longest bar is {:.2f} GiB",
      most / gib));
  blocks.push_back(chart.block("Device memory taken by handles that are never destroyed", room));
  blocks.push_back(
      folded(table_block("Handles that are never destroyed",
                         {"arms", "stack", "handles", "MiB each", "GiB in all", "measured"}, rows, room),
             "The numbers"));
}

// ---- the atlas ----

bool ends_process(const std::string& status) {
  return status == status_crashed || status == status_timed_out || status == status_exited;
}

void put_bars(bar_chart& chart, const swept_counts& counts) {
  double x = 0;
  const auto add = [&](const char* css, const std::string& word, std::uint64_t runs) {
    if (runs == 0) return;
    const double w = static_cast<double>(runs) / static_cast<double>(counts.runs);
    chart.bar(css, x, x + w, fmt::format("{}: {} of {} runs", word, runs, counts.runs), word);
    x += w;
  };
  add("right", "✓ swallowed", counts.swallowed);
  for (const auto& [status, runs] : counts.statuses)
    if (!ends_process(status)) add("fails", "✕ " + status, runs);
  add("worse", "‼ succeeded wrongly", counts.wrong);
  for (const auto& [status, runs] : counts.statuses)
    if (ends_process(status)) add("worse", "‼ " + status, runs);
}

json atlas_section(const report& r) {
  constexpr const char* title_of_it = "Atlas: what a failed driver call leads to";
  if (r.atlas.empty())
    return section("atlas", "Atlas", title_of_it,
                   {line_block("Not measured: these records have no sweep. It is made by", "cufault sweep")});
  std::vector<json> blocks{
      line_block(
          "Each driver call inside an operation was made to fail, alone: made up, not seen in nature. A bar "
          "is all runs of an operation; its parts are what the operation came to. On what that depends:",
          "cufault atlas"),
      keys_block({{"right", "✓", "swallowed: success, and right numbers"},
                  {"fails", "✕", "a status"},
                  {"worse", "‼", "success and wrong numbers, a crash or a hang"}})};
  std::size_t room = room_for_atlas;
  for (const auto& [stack, operations] : r.atlas) {
    bar_chart chart;
    std::vector<json> rows;
    for (const swept_operation& o : operations) {
      const auto row = [&](std::vector<std::string> texts) {
        json cells = json::array();
        for (std::string& text : texts) cells.push_back(text_cell(beginning_of(text, 400)));
        rows.push_back({{"name", title(o)}, {"cells", std::move(cells)}});
      };
      if (!o.unresolved.empty()) {
        row({o.depth, o.unresolved, "", "", ""});
        continue;
      }
      const swept_counts counts = counts_of(o);
      std::vector<std::string> words;
      for (const auto& [status, runs] : counts.statuses) words.push_back(fmt::format("{} {}", runs, status));
      row({fmt::format("{}, {}", counts.runs, o.depth), fmt::format("{}", fmt::join(words, ", ")),
           std::to_string(counts.swallowed), std::to_string(counts.wrong),
           std::to_string(counts.poisons_process)});
      if (counts.runs == 0 || chart.full()) continue;
      chart.row(title(o));
      put_bars(chart, counts);
    }
    blocks.push_back({{"heading", stack}});
    if (!chart.empty())
      blocks.push_back(chart.block("What operations come to when one driver call fails, on " + stack, room));
    blocks.push_back(folded(table_block("Atlas of " + stack,
                                        {"operation", "runs with one call failed", "statuses", "swallowed",
                                         "succeeded wrongly", "fails by a new handle too"},
                                        rows, room),
                            "The numbers"));
  }
  return section("atlas", "Atlas", title_of_it, std::move(blocks));
}

// ---- claims ----

/// Letters of the stacks that a label is of: several, where they differ by their second cuBLAS alone.
std::string letters_of_label(const report& r, const std::string& label) {
  std::vector<std::string> found;
  for (const report::stack& s : r.stacks)
    if (s.run.stack == label || s.run.stack.starts_with(label + ", other cuBLAS ")) found.push_back(s.letter);
  return found.empty() ? label : fmt::format("{}", fmt::join(found, " or "));
}

json claims_section(const report& r) {
  std::vector<json> rows;
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
    std::vector<json> more;
    for (const auto& [word, arms] : by_word) {
      std::vector<std::string> names;
      for (const auto& [name, stacks] : arms)
        names.push_back(fmt::format("{} ({})", name, fmt::join(stacks, ", ")));
      more.push_back(note(fmt::format("{}{} by {}", word.first ? "made up: " : "", word.second,
                                      beginning_of(fmt::format("{}", fmt::join(names, "; ")), 2000))));
    }
    if (more.empty() && !v.what.untestable.empty())
      more.push_back(note(beginning_of(v.what.untestable, 500)));
    rows.push_back({{"name", v.what.id},
                    {"under", to_string(v.what.kind)},
                    {"cells",
                     {text_cell(v.verdict),
                      text_cell(beginning_of(v.what.text, 600)),
                      {{"folded", v.evidence.empty() ? "" : plural(v.evidence.size(), "observation")},
                       {"notes", more}}}}});
  }
  std::vector<std::string> words;
  for (const auto& [verdict, count] : counts) words.push_back(fmt::format("{} {}", count, verdict));
  if (rows.empty()) return section("claims", "Claims", "Claims", {line_block("No claims were given.")});
  std::size_t room = room_for_claims;
  return section(
      "claims", "Claims", "Claims",
      {line_block(fmt::format("What documents say, judged by these records: {}.", fmt::join(words, ", "))),
       table_block("Claims", {"claim", "verdict", "what it says", "what speaks to it"}, rows, room)});
}

// ---- all arms ----

json arms_section(const report& r, const std::vector<joined_row>& all, std::size_t room) {
  std::vector<joined_row> rows;  // cells have a section of their own
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [](const joined_row& row) { return !row.arm->case_name.starts_with(matrix_family); });
  std::vector<json> blocks{line_block("To repeat one:", "cufault run CASE/ARM")};
  if (rows.size() < all.size())
    blocks.push_back(line_block(fmt::format("Not listed here: {} of the matrix, which has a section.",
                                            plural(all.size() - rows.size(), "cell"))));
  std::size_t left = rows.size();
  for (auto first = rows.begin(); first != rows.end();) {
    const std::string& name = first->arm->case_name;
    const auto last =
        std::find_if(first, rows.end(), [&](const joined_row& row) { return row.arm->case_name != name; });
    std::vector<json> of_case;
    verdict_counts counts;
    for (auto row = first; row != last; ++row) {
      of_case.push_back(arm_row(r, *row, false));
      counts[rank(row->arm->judged)] += row->stacks.size();
    }
    std::size_t room_left = room - std::min(room, 3 * name.size());
    json block = table_block("", arm_head, of_case, room_left);
    if (block["table"].contains("left")) break;
    room = room_left;
    block["table"]["case"] = name;
    block["table"]["caption"] = "Arms of " + name;
    blocks.push_back(folded(std::move(block), fmt::format("{}: {}", name, text_of(counts))));
    left -= of_case.size();
    first = last;
  }
  if (left > 0)
    blocks.push_back(line_block(
        fmt::format("{} more do not fit here. The records beside this page have them; to print them:",
                    plural(left, "arm")),
        "cufault show"));
  return section("arms", "All arms", "All arms, by case", std::move(blocks));
}

class html_printer final : public report_printer {
 public:
  html_printer()
      : report_printer("html", "index.html", "a page: what changed, what is red, trends, and the rest") {}

  [[nodiscard]] std::string print(const report& r) const override {
    static html_template page_template(html_templates::report);
    const std::vector<joined_row> rows = joined_rows(r);
    std::size_t arms = 0;
    verdict_counts counts;
    for (const report::stack& s : r.stacks) {
      arms += s.run.arms.size();
      for (const auto& [at, n] : counts_of(s.run)) counts[at] += n;
    }
    json page{{"command", r.command},
              {"counts", arms == 0 ? "no arm ran" : text_of(counts)},
              {"arms", fmt::format("{} of {}", plural(arms, "arm"), plural(r.stacks.size(), "stack"))}};
    json& sections = page["sections"] = json::array();
    sections.push_back(change_section(r, arms));
    sections.push_back(red_section(r, rows, arms));
    sections.push_back(trends_section(r));
    sections.push_back(stacks_section(r));
    if (auto blocks = by_verdict(r, rows, false, room_for_unjudged); !blocks.empty())
      sections.push_back(section("unjudged", "Not judged", "What is not judged", std::move(blocks)));
    sections.push_back(matrix_section(r));
    std::vector<json> memory;
    std::size_t room = room_for_memory;
    put_edges(r, memory, room);
    put_leaks(r, memory, room);
    sections.push_back(section("memory", "Memory", "Memory", std::move(memory)));
    sections.push_back(atlas_section(r));
    sections.push_back(claims_section(r));
    const std::size_t taken = page_template(page).size() + room_for_frame;
    sections.push_back(arms_section(r, rows, html_limit - std::min(html_limit, taken)));
    return page_template(page);
  }
};

const html_printer the_html;

}  // namespace

const report_printer& as_html = the_html;

}  // namespace cufault
