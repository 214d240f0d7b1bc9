// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The report as one page that asks for nothing from elsewhere. What changed and what is red come first. html/*.html have the markup; here is what they
// show. Below html_limit: rows that do not fit are counted, and are in the records beside the page.
#include "reports/model/cell_name.hpp"
#include "reports/model/times.hpp"
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
#include <iterator>
#include <kainjow/mustache.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

using nlohmann::json;
using blocks = std::vector<json>;

// What the rows of each part may take of html_limit; all arms get exactly what the others leave.
constexpr std::size_t room_for_change = 150'000, room_for_red = 250'000, room_for_trends = 80'000,
                      room_for_stacks = 100'000, room_for_unjudged = 100'000, room_for_part = 120'000,
                      room_for_matrix = 500'000;
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

/// Takes what the rows need from `room`; the others are counted. `summary`: it is folded behind that.
json table_of(const std::string& caption, const table_row& head, const blocks& rows, std::size_t& room,
              const std::string& summary = "", const char* classes = "arms") {
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
  json table{{"caption", caption}, {"head", head}, {"classes", classes}, {"rows", text}, {"folded", summary}};
  if (left > 0) table["left"] = plural(left, "row");
  return {{"table", std::move(table)}};
}

json section(const char* id, const char* short_title, const char* title, blocks parts) {
  return {{"id", id}, {"short", short_title}, {"title", title}, {"blocks", std::move(parts)}};
}

json heading(std::string text) {
  return {{"heading", std::move(text)}};
}

json paragraph(std::string text, const char* code = "") {
  return {{"text", {{"says", std::move(text)}, {"code", code}}}};
}

json state(const char* look, const char* word, std::string text) {
  return {{"state", word}, {"look", look}, {"of_it", std::move(text)}};
}

json list_of(const std::vector<std::string>& lines, std::size_t most) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) shown.push_back(beginning_of(lines[i], 500));
  if (lines.size() > most) shown.push_back(fmt::format("and {} more", lines.size() - most));
  return {{"lines", {{"entries", shown}}}};
}

json note(std::string text, const std::string& code = "") {
  return {{"says", std::move(text)}, {"runs", code}};
}

json link_note(std::string text, std::string to, std::string at, const std::string& code = "") {
  return {{"says", std::move(text)}, {"to", std::move(to)}, {"at", std::move(at)}, {"runs", code}};
}

/// `folded`: what is behind it is.
json cell_of(std::string text, blocks notes = {}, const std::string& folded = "") {
  return {{"text", std::move(text)}, {"notes", std::move(notes)}, {"folded", folded}};
}

json verdict_cell(verdict v, blocks notes) {
  return {{"tag", to_string(v)}, {"look", advices[rank(v)].look}, {"notes", std::move(notes)}};
}

/// A line may break behind the case of an arm.
json table_row_of(const std::string& name, std::string under, blocks cells) {
  const auto slash = name.find('/');
  const auto end = slash == name.npos ? name.size() : slash + 1;
  return {{"name", name.substr(0, end)},
          {"rest", name.substr(end)},
          {"under", std::move(under)},
          {"cells", std::move(cells)}};
}

/// What another command prints.
blocks blocks_of(const report_part& part, std::size_t room) {
  constexpr std::size_t longest = 600;
  blocks all;
  if (!part.before.empty()) all.push_back(paragraph(part.before));
  if (!part.list.empty()) all.push_back(list_of(part.list, 100));
  for (const report_part::table& t : part.tables) {
    if (!t.title.empty()) all.push_back(heading(t.title));
    blocks rows;
    for (const table_row& row : t.rows) {
      blocks cells;
      for (const std::string& text : std::span(row).subspan(1)) {
        std::istringstream lines(text);
        std::string line;
        std::getline(lines, line);
        cells.push_back(cell_of(beginning_of(line, longest)));
        while (std::getline(lines, line)) cells.back()["notes"].push_back(note(beginning_of(line, longest)));
      }
      rows.push_back(table_row_of(beginning_of(row[0], longest), "", std::move(cells)));
    }
    all.push_back(table_of(t.head[0], t.head, rows, room, "", ""));
  }
  if (!part.after.empty()) all.push_back(paragraph(part.after));
  return all;
}

/// Rows of bars below their label; each bar has its place between 0 and 1, and what it says.
class bar_chart {
 public:
  /// With several lanes each bar of the row has its own, one below another.
  void row(const std::string& label, std::size_t lanes = 1) {
    y_ += row_height;
    text(at(0), y_ - bar_height - 8, "start", beginning_of(label, 60));
    lane_ = 0;
    lanes_ = lanes;
  }
  void bar(const char* look, double from, double to, std::string says) {
    const double tall = bar_height / static_cast<double>(lanes_);
    model_["bars"].push_back(
        {{"look", look},
         {"x", fmt::format("{:.1f}", at(from))},
         {"y", fmt::format("{:.1f}", y_ - bar_height - 2 + tall * static_cast<double>(lane_))},
         {"width", fmt::format("{:.1f}", std::max(at(to) - at(from), 0.5))},
         {"tall", fmt::format("{:.1f}", tall)},
         {"says", std::move(says)}});
    if (lanes_ > 1) ++lane_;
  }
  [[nodiscard]] bool full() const { return y_ >= 60 * row_height; }
  /// From when to when, below it. Nothing where it does not fit.
  json block(const std::string& title, const std::string& first, const std::string& last, std::size_t& room) {
    static html_template chart_template(html_templates::chart);
    text(at(0), y_ + 20, "start", first.substr(0, 10));
    text(at(1), y_ + 20, "end", last.substr(0, 10));
    model_["title"] = title;
    model_["height"] = y_ + 28;
    std::string svg = chart_template(model_);
    if (svg.size() > room) return json::object();
    room -= svg.size();
    svg.pop_back();  // its line break
    return {{"chart", std::move(svg)}};
  }

 private:
  static constexpr int width = 720, row_height = 48, bar_height = 16;  // room for the large letters of phones
  static double at(double part) { return 1 + (width - 2) * std::clamp(part, 0.0, 1.0); }
  void text(double x, int y, const char* anchor, std::string says) {
    model_["texts"].push_back({{"x", x}, {"y", y}, {"anchor", anchor}, {"says", std::move(says)}});
  }
  json model_{{"bars", json::array()}, {"texts", json::array()}};
  int y_ = 0;
  std::size_t lane_ = 0, lanes_ = 1;
};

// ---- arms ----

std::string line_number_of(const std::string& source) {
  const auto colon = source.rfind(':');
  return colon == std::string::npos ? "1" : source.substr(colon + 1);
}

verdict_counts counts_of(const run_report& run) {
  verdict_counts counts;
  for (const report_arm& a : run.arms) ++counts[rank(a.judged)];
  return counts;
}

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

const table_row arm_head{"arm", "verdict, on which stacks", "what was seen, and the evidence"};

/// `alone`: outside of the table of its case. Then it has its whole name, and the line that repeats it.
json arm_row(const report& r, const joined_row& row, bool alone) {
  const report_arm& a = *row.arm;
  blocks notes;
  const bool said =
      a.judged == verdict::unrecorded || (!alone && !advices[rank(a.judged)].asks.empty());  // above
  if (!said && !a.why.empty() && a.seen.find(a.why) == a.seen.npos) {
    std::string why = a.why;  // without what was seen, which stands above
    if (!a.seen.empty() && why.ends_with(": " + a.seen)) why.resize(why.size() - a.seen.size() - 2);
    notes.push_back(note(beginning_of(why, (alone ? 4 : 2) * longest_seen)));
  }
  if (!a.cost.empty()) notes.push_back(note(a.cost));
  if (a.otherwise > 0)
    notes.push_back(
        note(fmt::format("something else in {} of {} runs: see cufault history", a.otherwise, a.runs)));
  const std::string& letter = r.stacks[row.stacks[0]].letter;
  if (!a.source.empty())
    notes.push_back(link_note("record", "#" + letter,
                              fmt::format("{}: line {}", letter, line_number_of(a.source)),
                              alone ? a.repeat : ""));
  else if (alone)
    notes.push_back(note("", a.repeat));
  // The script of the page reads verdict and stacks from here.
  const std::string stacks =
      fmt::format("{}: {}", row.stacks.size() == 1 ? "stack" : "stacks", letters(r, row.stacks));
  return table_row_of(alone ? join_key(a.case_name, a.arm) : a.arm, a.made_up ? a.kind + ", made up" : a.kind,
                      {verdict_cell(a.judged, {note(stacks)}),
                       cell_of(beginning_of(a.seen, longest_seen), std::move(notes))});
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
/// What stands under what changed is counted.
blocks by_verdict(const report& r, const std::vector<joined_row>& rows, bool red, std::size_t room) {
  std::map<std::size_t, blocks> tables;
  std::map<std::size_t, std::map<std::string, std::size_t>> counted;
  std::set<std::string> changed;
  if (r.change)
    for (const report_change::group& g : r.change->groups)
      changed.insert(g.of.names.begin(), g.of.names.end());
  std::size_t above = 0;
  for (const joined_row& row : rows) {
    const std::size_t at = rank(row.arm->judged);
    if (advices[at].asks.empty() || is_red(*row.arm) != red) continue;
    if (row.stacks.size() == 1 && r.change && r.stacks[row.stacks[0]].letter == r.change->letter &&
        changed.contains(join_key(row.arm->case_name, row.arm->arm))) {
      ++above;
      continue;
    }
    blocks& of_it = tables[at];
    if (is_counted_only(*row.arm))
      counted[at][row.arm->case_name] += row.stacks.size();
    else
      of_it.push_back(arm_row(r, row, true));
  }
  blocks all;
  if (above > 0) all.push_back(paragraph(plural(above, "arm") + " under what changed."));
  for (const auto& [at, of_it] : tables) {
    all.push_back(heading(fmt::format("{}: {}", to_string(advices[at].v), advices[at].asks)));
    std::vector<std::string> words;
    for (const auto& [name, count] : counted[at]) words.push_back(fmt::format("{} ({})", name, count));
    if (!words.empty())
      all.push_back(paragraph(
          beginning_of(fmt::format("Cells of the matrix: {}. What was seen in each:", fmt::join(words, ", ")),
                       8000),
          "cufault show FOLDER CASE"));
    if (!of_it.empty()) all.push_back(table_of(to_string(advices[at].v), arm_head, of_it, room));
  }
  return all;
}

// ---- what changed, and what is red ----

/// A line a step of "cublasSgemm: SUCCESS (tried 2; written D) → INVALID_VALUE; cublasDgemm: ...".
std::string steps_in_lines(const std::string& why) {
  constexpr std::size_t most_steps = 4;
  std::vector<std::string> steps = parts_of(why);
  const std::size_t more = steps.size() > most_steps ? steps.size() - most_steps : 0;
  steps.resize(steps.size() - more);
  for (std::string& step : steps) step = beginning_of(step, 200);
  if (more > 0) steps.push_back(fmt::format("and {} more", more));
  return fmt::format("{}", fmt::join(steps, "\n"));
}

blocks what_changed(const report_change& c) {
  std::size_t room = room_for_change;
  const bool same = c.changed == 0, compared = c.same + c.changed > 0;
  blocks all{state(!same      ? "worse"
                   : compared ? "right"
                              : "unseen",
                   !same      ? "✕ CHANGED"
                   : compared ? "✓ NOTHING CHANGED"
                              : "? NOTHING TO COMPARE",
                   fmt::format("stack {}: {}", c.letter, c.now)),
             paragraph(change_line(c))};
  blocks rows;
  for (const report_change::group& g : c.groups) {
    const auto seen = [&](std::size_t i) {
      return beginning_of(g.what.seen[i].empty() ? "not observed" : g.what.seen[i], 400);
    };
    blocks more{note("before: " + seen(0)), note("now: " + seen(1))};
    const auto others = std::span(g.of.names).subspan(1);
    if (!others.empty())
      more.push_back(note(beginning_of(fmt::format("alike: {}", fmt::join(others, ", ")), 2000)));
    const std::string alike = others.empty() ? "" : fmt::format("and {} alike", others.size());
    rows.push_back(table_row_of(join_key(g.what.case_name, g.what.arm), beginning_of(g.what.summary, 200),
                                {verdict_cell(g.what.found.v, {note("stack: " + c.letter), note(alike)}),
                                 cell_of(steps_in_lines(g.what.found.why), {note("", g.repeat)}),
                                 cell_of("", std::move(more), "what was seen")}));
  }
  if (!rows.empty())
    all.push_back(table_of("What changed",
                           {"arm", "change", "how, and the line that repeats it", "before and now"}, rows,
                           room));
  if (c.unknown > 0)
    all.push_back(paragraph(fmt::format("Observed in one of the two only: {}.", plural(c.unknown, "arm"))));
  rows.clear();
  for (const stack_difference& d : c.stacks)
    rows.push_back(table_row_of(
        d.name, "", {cell_of(beginning_of(d.values[0], 200)), cell_of(beginning_of(d.values[1], 200))}));
  if (!rows.empty())
    all.push_back(table_of("What differs between the stacks", {"of the stack", "before", "now"}, rows, room,
                           plural(rows.size(), "difference") + " between the stacks"));
  return all;
}

json change_section(const report& r, std::size_t arms) {
  blocks all;
  if (arms == 0)
    all = {state("worse", "‼ NOTHING RAN", "No arm ran: a run in which nothing ran is not green.")};
  else if (r.change)
    all = what_changed(*r.change);
  else
    all = {state("unseen", "? NO GREEN RUN", "No earlier green run is here to compare with."),
           paragraph("Below is what the recorded stacks say. To name a green run:",
                     "cufault report RECORD --since FOLDER -o DIR")};
  return section("changed", "Changed", "What changed since the last green run", std::move(all));
}

// ---- trends ----

/// A row a stack, a bar a run: what it came to.
void put_runs(const report& r, blocks& all, std::size_t& room) {
  constexpr std::size_t most_runs = 120;
  std::vector<const report_run*> runs;
  for (const report_run& run : r.runs)
    if (!run.filed) runs.push_back(&run);
  if (runs.size() < 2) return;
  if (runs.size() > most_runs) runs.erase(runs.begin(), runs.end() - most_runs);
  std::map<std::string, std::vector<std::size_t>> by_stack;
  for (std::size_t i = 0; i < runs.size(); ++i) by_stack[runs[i]->stack].push_back(i);
  bar_chart chart;
  const auto part = [&](std::size_t i) { return static_cast<double>(i) / static_cast<double>(runs.size()); };
  for (const auto& [stack, of_it] : by_stack) {
    if (chart.full()) break;
    chart.row(stack);
    for (const std::size_t i : of_it) {
      const report_run& run = *runs[i];
      const char* const look = !run.complete        ? "worse"
                               : run.exit_code == 0 ? "right"
                               : run.exit_code == 1 ? "mixed"
                                                    : "worse";
      chart.bar(
          look, part(i), part(i + 1),
          fmt::format("{}: {}, {}", run.started,
                      run.complete ? fmt::format("exit code {}", run.exit_code) : "did not come to its end",
                      plural(run.arms, "arm")));
    }
  }
  all.push_back(heading("Runs"));
  all.push_back(paragraph(
      "A bar is a run, in the order of their starts. Light: exit code 0; dark: 1; red: another, or no end."));
  all.push_back(chart.block("Exit codes of runs", runs.front()->started, runs.back()->started, room));
}

/// A band a result, from its first run to its last. Arms that changed since the green run are shown over all stacks, the others each on one.
void put_history(const report& r, blocks& all, std::size_t& room) {
  const report_trends& h = *r.history;
  std::set<std::string> changed;
  if (r.change)
    for (const report_change::group& g : r.change->groups)
      changed.insert(g.of.names.begin(), g.of.names.end());
  std::vector<const report_trends::arm*> found;
  for (const report_trends::arm& a : h.arms)
    if (a.on_all == changed.contains(a.name)) found.push_back(&a);
  all.push_back(heading("Arms that did not always show the same"));
  if (found.empty()) {
    all.push_back(
        paragraph(fmt::format("None in {}, but for arms that race at their rates.", plural(h.runs, "run"))));
    return;
  }
  constexpr double least = 0.02;  // so wide is a result of one run
  const auto begin = milliseconds_of(h.first);
  const auto part = [&](const std::string& time) {
    return (1 - least) * static_cast<double>(milliseconds_of(time) - begin) /
           static_cast<double>(std::max<std::int64_t>(milliseconds_of(h.last) - begin, 1));
  };
  constexpr std::array looks{"none", "mixed", "fails", "worse"};
  bar_chart chart;
  blocks rows;
  for (const report_trends::arm* const arm : found) {
    const auto& results = arm->results;
    blocks notes;
    const bool drawn = !chart.full();
    if (drawn) chart.row(arm->name, std::min(looks.size(), results.size()));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const report_trends::result& result = results[i];
      std::string says = fmt::format("{} to {}, {}: {}", result.first, result.last,
                                     plural(result.runs, "run"), beginning_of(result.seen, longest_seen));
      if (drawn && i < looks.size()) chart.bar(looks[i], part(result.first), part(result.last) + least, says);
      notes.push_back(note(std::move(says)));
    }
    rows.push_back(table_row_of(arm->name, arm->on, {cell_of(arm->how), cell_of("", std::move(notes))}));
  }
  all.push_back(
      paragraph("A bar is a result, from the first run that showed it to the last; the most frequent one is "
                "grey. The latest change is on top. Arms that race are here if their rate changed."));
  all.push_back(chart.block("Results of arms over time", h.first, h.last, room));
  all.push_back(table_of("Results of arms over time", {"arm", "how often", "what it showed, and when"}, rows,
                         room, "The numbers"));
}

json trends_section(const report& r) {
  blocks all;
  std::size_t room = room_for_trends;
  put_runs(r, all, room);
  if (r.history) put_history(r, all, room);
  if (all.empty())
    all = {paragraph("One run shows no trend. To see those of a history:",
                     "cufault report RECORD --history FILE -o DIR")};
  return section("trends", "Trends", "Trends", std::move(all));
}

// ---- stacks ----

json stacks_section(const report& r) {
  blocks rows, options;
  std::set<std::pair<std::size_t, std::string>> verdicts;
  for (const report::stack& s : r.stacks) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : s.keys) keys.push_back(fmt::format("{} {}", key, value));
    rows.push_back(table_row_of(
        s.letter, "",
        {cell_of(s.run.stack, {note(s.run.nearest), note(s.run.predicted)}),
         cell_of(beginning_of(fmt::format("{}", fmt::join(keys, ", ")), 2000), {}, "keys"),
         cell_of(std::to_string(s.runs), {note(s.latest + (s.runs > 1 ? "; the first " + s.first : ""))}),
         cell_of(std::to_string(s.run.arms.size())), cell_of(text_of(counts_of(s.run))),
         cell_of("", {link_note("", s.file, "observations")})}));
    rows.back()["id"] = s.letter;
    if (options.size() < 100)
      options.push_back({{"letter", s.letter}, {"label", beginning_of(s.run.stack, 60)}});
    for (const report_arm& a : s.run.arms) verdicts.insert({rank(a.judged), to_string(a.judged)});
  }
  if (r.change)
    for (const report_change::group& g : r.change->groups)
      verdicts.insert({rank(g.what.found.v), to_string(g.what.found.v)});
  std::vector<std::string> names;
  for (const auto& [at, name] : verdicts) names.push_back(name);
  std::size_t room = room_for_stacks;
  blocks all{{{"filter", {{"verdicts", names}, {"stacks", options}}}},
             paragraph("Of each arm of a stack the latest run that observed it counts. Below a stack: how it "
                       "compares with the nearest recorded one."),
             table_of("Stacks", {"letter", "stack", "keys", "records", "arms", "verdicts", "files"}, rows,
                      room, "", "")};
  for (const auto& [title, lines] : {std::pair{"Files that could not be read", &r.unread},
                                     {"Runs that did not come to their end", &r.incomplete}})
    if (!lines->empty()) {
      all.push_back(heading(title));
      all.push_back(list_of(*lines, 40));
    }
  return section("stacks", "Stacks", "Stacks", std::move(all));
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

json repeat_note(const observed_cell& c, const std::string& libraries) {
  return link_note("record", c.source.substr(0, c.source.rfind(':')), "line " + line_number_of(c.source),
                   repeats(c, libraries));
}

/// A cell without a measurement has no class, to save room: there are thousands. The style finds it as .matrix td:not([class]).
json cell_of_matrix(const cells_here& here, bool with_evidence, const std::string& libraries) {
  blocks more;
  const auto detail = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) more.push_back(note(fmt::format("{}: {}", name, beginning_of(text, 300))));
  };
  json cell = cell_of("-");
  if (here.plain != nullptr) {
    const observed_cell& c = *here.plain;
    const look l = look_of(c);
    const std::string word = fmt::format(
        "{} {}", l.symbol, beginning_of(was_observed(c) ? describe(c.outcome) : "not observed", 100));
    cell = with_evidence ? cell_of("", {}, word + (c.made_up ? " (made up)" : "")) : cell_of(word);
    cell["css"] = l.css;
    detail("of trials", c.outcome.size() > 1 ? with_rates(c.outcome) : "");
    detail("why", c.why_not);
    detail("context afterwards", c.context);
    detail("of the operation", describe(c.facts));
    detail("run", c.run);
    more.push_back(repeat_note(c, libraries));
  } else if (with_evidence && !here.remedies.empty()) {
    cell = cell_of("", {}, "with a remedy only");
  }
  if (!with_evidence) return cell;
  for (const observed_cell* c : here.remedies) {
    detail("remedy " + c->at.remedy, was_observed(*c) ? shown_outcome(*c) : "not observed: " + c->why_not);
    more.push_back(repeat_note(*c, libraries));
  }
  cell["notes"] = std::move(more);
  return cell;
}

/// `evidence`: that of its cells, too, where it fits. Nothing where not even the cells fit.
blocks matrix_of_stack(const stack_matrix& m, bool evidence, std::size_t& room) {
  constexpr std::size_t most_operations = 150;
  std::set<std::string> operations;
  using matrix_row = std::tuple<std::string, std::string, std::string, std::optional<std::int64_t>>;
  std::map<matrix_row, std::map<std::string, cells_here>>
      rows;  // by fault, state, timing, level; by operation
  std::size_t with_remedy = 0;
  for (const observed_cell& c : m.cells) {
    with_remedy += c.at.remedy.empty() ? 0 : 1;
    if (operations.size() == most_operations && !operations.contains(c.at.operation)) continue;
    operations.insert(c.at.operation);
    cells_here& here = rows[{c.fault, c.at.state, c.at.timing, c.at.level}][c.at.operation];
    if (c.at.remedy.empty())
      here.plain = &c;
    else
      here.remedies.push_back(&c);
  }
  for (const bool with_evidence : {true, false}) {
    if (with_evidence && !evidence) continue;
    blocks shown;
    for (const auto& [key, cells] : rows) {
      const auto& [fault, state, timing, level] = key;
      blocks of_row;
      for (const std::string& o : operations) {
        const auto here = cells.find(o);
        of_row.push_back(
            cell_of_matrix(here == cells.end() ? cells_here{} : here->second, with_evidence, m.libraries));
      }
      shown.push_back(table_row_of(fault,
                                   fmt::format("{}{}{}{}", state, timing.empty() ? "" : ", ", timing,
                                               level ? fmt::format(", level {}", *level) : ""),
                                   std::move(of_row)));
    }
    std::size_t left = room;
    table_row head{"fault"};
    head.insert(head.end(), operations.begin(), operations.end());
    json table = table_of("Matrix of " + m.stack, head, shown, left, "", "matrix");
    if (table["table"].contains("left")) continue;
    room = left;
    blocks all{heading(m.stack),
               paragraph(fmt::format("{}, {} with a remedy.", plural(m.cells.size(), "cell"), with_remedy))};
    if (!with_evidence)
      all.push_back(
          paragraph("The evidence of each cell does not fit here; it is in", "cufault matrix --format csv"));
    all.push_back(std::move(table));
    return all;
  }
  return {};
}

json matrix_section(const report& r) {
  if (r.matrix.empty())
    return section("matrix", "Matrix", "Matrix",
                   {paragraph("Not measured: these records have no cell of the matrix. It is measured by",
                              "cufault run matrix")});
  blocks entries;
  for (const look& l : {right_look, fails_look, worse_look, mixed_look, unseen_look, no_look})
    entries.push_back({{"look", l.css}, {"symbol", l.symbol}, {"means", l.means}});
  blocks all{paragraph("Faults down, operations across. Each cell says what the operation came to. On the "
                       "first stack, open it for the evidence and the line that repeats it."),
             {{"keys", {{"entries", entries}}}}};
  // The stack of the latest run first.
  std::vector<const stack_matrix*> order;
  for (const stack_matrix& m : r.matrix) order.push_back(&m);
  const std::string latest = r.runs.empty() ? "" : r.runs.back().stack;
  std::stable_partition(order.begin(), order.end(),
                        [&](const auto* m) { return latest.starts_with(m->stack); });
  std::size_t room = room_for_matrix;
  std::vector<std::string> left;
  for (const stack_matrix* m : order) {
    blocks shown = matrix_of_stack(*m, m == order.front(), room);
    if (shown.empty()) left.push_back(m->stack);
    std::move(shown.begin(), shown.end(), std::back_inserter(all));
  }
  if (!left.empty()) {
    all.push_back(paragraph("Matrices of these stacks are not shown, to keep the page small; they are in",
                            "cufault matrix --stack STACK"));
    all.push_back(list_of(left, 20));
  }
  return section("matrix", "Matrix", "Matrix", std::move(all));
}

// ---- all arms ----

json arms_section(const report& r, const std::vector<joined_row>& all, std::size_t room) {
  std::vector<joined_row> rows;  // cells have a section of their own
  std::ranges::copy_if(all, std::back_inserter(rows),
                       [](const joined_row& row) { return !row.arm->case_name.starts_with(matrix_family); });
  blocks parts{paragraph("To repeat one:", "cufault run CASE/ARM")};
  if (rows.size() < all.size())
    parts.push_back(paragraph(fmt::format("Not listed here: {} of the matrix, which has a section.",
                                          plural(all.size() - rows.size(), "cell"))));
  std::size_t left = rows.size();
  for (auto first = rows.begin(); first != rows.end();) {
    const std::string& name = first->arm->case_name;
    const auto last =
        std::find_if(first, rows.end(), [&](const joined_row& row) { return row.arm->case_name != name; });
    blocks of_case;
    verdict_counts counts;
    for (auto row = first; row != last; ++row) {
      of_case.push_back(arm_row(r, *row, false));
      counts[rank(row->arm->judged)] += row->stacks.size();
    }
    std::size_t room_left = room - std::min(room, 3 * name.size());
    json table = table_of("Arms of " + name, arm_head, of_case, room_left,
                          fmt::format("{}: {}", name, text_of(counts)));
    if (table["table"].contains("left")) break;
    room = room_left;
    table["table"]["case"] = name;
    parts.push_back(std::move(table));
    left -= of_case.size();
    first = last;
  }
  if (left > 0)
    parts.push_back(paragraph(
        fmt::format("{} more do not fit here. The records beside this page have them; to print them:",
                    plural(left, "arm")),
        "cufault show"));
  return section("arms", "All arms", "All arms, by case", std::move(parts));
}

/// Arms of a stack that nobody recorded are not red: nothing judges them.
json nothing_red(const verdict_counts& counts, std::size_t arms) {
  std::size_t unjudged = 0;
  for (const verdict v : {verdict::as_predicted, verdict::differs, verdict::unrecorded})
    if (const auto found = counts.find(rank(v)); found != counts.end()) unjudged += found->second;
  if (unjudged == 0)
    return state("right", "✓ NOTHING IS RED",
                 fmt::format("None of {} differs from what is recorded for its stack.", plural(arms, "arm")));
  return state("unseen", "? NOTHING IS RED",
               fmt::format("Nothing is recorded for the stack of {} of {}. What differs from the nearest "
                           "stack follows as not judged.",
                           unjudged, plural(arms, "arm")));
}

std::string report_as_html(const report& r) {
  static html_template page_template(html_templates::report);
  const std::vector<joined_row> rows = joined_rows(r);
  std::size_t arms = 0;
  verdict_counts counts;
  for (const report::stack& s : r.stacks) {
    arms += s.run.arms.size();
    for (const auto& [at, n] : counts_of(s.run)) counts[at] += n;
  }
  blocks red = by_verdict(r, rows, true, room_for_red),
         unjudged = by_verdict(r, rows, false, room_for_unjudged);
  if (red.empty() && arms > 0) red = {nothing_red(counts, arms)};
  blocks sections{change_section(r, arms),
                  section("red", "Red", "What is red, and the line that repeats it", std::move(red)),
                  trends_section(r), stacks_section(r)};
  if (!unjudged.empty())
    sections.push_back(section("unjudged", "Not judged", "What is not judged", std::move(unjudged)));
  sections.push_back(matrix_section(r));
  for (const report_part& part : r.parts)
    sections.push_back(
        section(part.id, part.title, part.title,
                part.tables.empty() ? blocks{paragraph(part.otherwise)} : blocks_of(part, room_for_part)));
  json page{{"command", r.command},
            {"counts", arms == 0 ? "no arm ran" : text_of(counts)},
            {"arms", fmt::format("{} of {}", plural(arms, "arm"), plural(r.stacks.size(), "stack"))},
            {"sections", std::move(sections)}};
  const auto with_arms = [&](std::size_t room) {
    json whole = page;
    whole["sections"].push_back(arms_section(r, rows, room));
    return page_template(whole);
  };
  // As a model it is larger than as text, but for the frames of its parts.
  const std::size_t estimate = page.dump(-1, ' ', false, json::error_handler_t::replace).size();
  std::size_t room = html_limit - std::min(html_limit, estimate);
  std::vector<std::string> left_out;
  for (;;) {
    std::string text = with_arms(room);
    if (text.size() <= html_limit) return text;
    json& all = page["sections"];
    if (room > 0) {
      room -= std::min(room, text.size() - html_limit);
      continue;
    }
    if (!left_out.empty()) all.erase(all.size() - 1);
    if (all.empty()) return text;
    left_out.push_back(all.back()["title"]);
    all.back() = section("left", "Left out", "Left out, to keep the page small", {list_of(left_out, 20)});
  }
}

}  // namespace

const report_printer as_html{"html", "index.html", "a page: what changed, what is red, trends, and the rest",
                             report_as_html};

}  // namespace cufault
