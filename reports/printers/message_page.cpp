// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/message_page.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/evidence/distance.hpp"
#include "reports/explain/driver_sayings.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/print_explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::size_t most_calls = 8, most_differences = 8, most_sayings = 5;

/// A text as code of Markdown, in a line.
std::string as_code(const std::string& text) {
  const std::string marks = text.find('`') == text.npos ? "`" : "``";
  return marks == "`" ? "`" + text + "`" : "`` " + text + " ``";
}

using statuses = std::set<std::string>;

/// "13.0.1" before "13.10.0".
struct by_version {
  bool operator()(const std::string& a, const std::string& b) const {
    return version_from(a) < version_from(b);
  }
};

/// What faults that are neither made up nor chance show of a status.
struct page_facts {
  statuses names;     ///< of the status: the driver has others for some
  statuses recorded;  ///< those of them that a call returned
  std::map<std::string, std::set<std::string>> arms_of_call;
  /// Case/arm, level, call, variant and GPU -> version of cuBLAS -> what it returned.
  std::map<std::tuple<std::string, std::optional<std::int64_t>, std::string, std::string, std::string>,
           std::map<std::string, statuses, by_version>>
      steps;
};

page_facts facts_of(const message_page& page, const lexicon& words, std::span<const record> records) {
  page_facts facts;
  facts.names.insert(page.status);
  for (const error_name& e : words.errors)
    if (e.name == page.status) facts.names.insert(e.also.begin(), e.also.end());
  const auto status_of = [&](const call_record& call) {
    const bool wrong = is_success_status(call.what.status) && call.what.numbers == numbers_found::wrong;
    return wrong ? status_wrong_numbers : call.what.status;
  };
  for (const record& r : records) {
    const stack_keys keys = keys_of(r);
    const auto version = keys.find("cublas");
    const std::string gpu = gpu_name(*r.stack);
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        if (a.kind != arm_kind::fault || !a.counterpart_of.empty() || is_made_up(a) || !a.races.empty())
          continue;
        const std::string arm = join_key(c.name, a.name);
        for (const observation& o : a.trials)
          for (const call_record& call : o.calls) {
            if (call.swept || !comparable(o)) continue;
            const std::string status = status_of(call);
            if (facts.names.contains(status)) {
              facts.recorded.insert(status);
              facts.arms_of_call[call.what.name.api].insert(arm);
            }
            if (version != keys.end())
              facts.steps[{arm, o.level, call.what.name.api, call.what.name.variant, gpu}][version->second]
                  .insert(facts.names.contains(status) ? page.status : status);
          }
      }
  }
  return facts;
}

void print_seen(std::ostream& out, const message_page& page, const lexicon& words, const page_facts& facts) {
  std::vector<std::string> shown;
  const auto show = [&](const std::string& text) {
    if (std::ranges::find(shown, as_code(text)) == shown.end()) shown.push_back(as_code(text));
  };
  for (const std::string& text : page.texts) show(text);
  if (page.framework.empty())
    for (const error_name& e : words.errors)
      if (e.name == page.status) {
        show(e.name);
        for (const auto* list : {&e.also, &e.texts, &e.common_texts, &e.short_texts})
          for (const std::string& text : *list) show(text);
        if (e.code != 0) shown.push_back("its number: " + std::to_string(e.code));
      }
  for (const std::string& text : shown) out << "- " << text << '\n';
  out << '\n';
  std::vector<std::pair<std::size_t, std::string>> calls;
  for (const auto& [call, arms] : facts.arms_of_call) calls.emplace_back(arms.size(), as_code(call));
  std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (calls.empty() || !page.framework.empty()) return;  // whose users call none of them
  std::vector<std::string> names;
  for (const auto& [arms, name] : calls)
    if (names.size() < most_calls) names.push_back(name);
  out << fmt::format(
      "Recorded from {}{}; those of most arms come first.\n\n", fmt::join(names, ", "),
      calls.size() > most_calls ? fmt::format(" and {} more calls", calls.size() - most_calls) : "");
}

constexpr std::string_view not_measured = "not measured yet";
/// What records say of an arm, or how to record it.
std::string measured(const std::string& arm, std::span<const record> records) {
  std::map<std::string, std::set<std::string>> seen;
  for (const record& r : records)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (join_key(c.name, a.name) == arm && !a.trials.empty()) seen[seen_by(a)].insert(stack_label(r));
  if (seen.empty()) return fmt::format("{}: `cufault run {}`", not_measured, arm);
  std::vector<std::string> parts;
  for (const auto& [what, stacks] : seen)
    parts.push_back(fmt::format("measured on {}: {}", plural(stacks.size(), "stack"), as_code(what)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Calls that return the status with one version of cuBLAS and something else with another, where the same arm ran with both.
bool print_differences(std::ostream& out, const message_page& page, const page_facts& facts) {
  // call, what it returned with which versions -> arms
  std::map<std::pair<std::string, std::string>, std::set<std::string>> found;
  for (const auto& each : facts.steps) {
    const auto& step = each.first;
    const auto& versions = each.second;
    if (std::ranges::none_of(versions, [&](const auto& v) { return v.second.contains(page.status); }) ||
        std::ranges::all_of(versions, [&](const auto& v) { return v.second == versions.begin()->second; }))
      continue;
    std::vector<std::pair<std::string, std::vector<std::string>>> by_statuses;  // in the order of versions
    for (const auto& [version, returned] : versions) {
      std::vector<std::string> names;
      for (const std::string& s : returned)
        names.emplace_back(s.empty() ? "did not return" : short_status(s));
      const std::string text = fmt::format("{}", fmt::join(names, " or "));
      if (by_statuses.empty() || by_statuses.back().first != text) by_statuses.push_back({text, {}});
      by_statuses.back().second.push_back(version);
    }
    std::vector<std::string> parts;
    for (const auto& [text, of] : by_statuses)
      parts.push_back(fmt::format(
          "{}: {}", of.size() > 2 ? of.front() + " to " + of.back() : fmt::format("{}", fmt::join(of, ", ")),
          text));
    found[{std::get<2>(step), fmt::format("{}", fmt::join(parts, "; "))}].insert(
        std::get<0>(step) +
        (std::get<1>(step) ? fmt::format(" at level {}", *std::get<1>(step)) : std::string()));
  }
  if (found.empty()) return false;
  std::vector<table_row> rows;
  for (const auto& [what, arms] : found)
    rows.push_back({what.first, what.second, std::to_string(arms.size()), *arms.begin()});
  std::ranges::stable_sort(
      rows, [](const table_row& a, const table_row& b) { return std::stoi(a[2]) > std::stoi(b[2]); });
  const std::size_t all = rows.size();
  rows.resize(std::min(all, most_differences));
  print_table(out, {"call", "what it returns, by version of cuBLAS", "arms", "for example"}, rows,
              table_style::markdown);
  if (all > rows.size()) out << fmt::format("And {} more: `cufault history matrix`.\n\n", all - rows.size());
  return true;
}

bool print_driver(std::ostream& out, const page_facts& facts, const lexicon& words,
                  std::span<const record> records) {
  std::vector<std::pair<std::uint64_t, table_row>> rows;
  for (const driver_saying& s : driver_sayings_in(records, words).all) {
    std::uint64_t trials = 0;
    std::string call;
    for (const auto& [behind, times] : s.behind)
      if (facts.names.contains(behind.substr(behind.find(' ') + 1))) {
        trials += times;
        if (call.empty()) call = behind.substr(0, behind.find(':'));
      }
    if (trials > 0) rows.push_back({trials, {describe(s.said), call, std::to_string(trials)}});
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (rows.empty()) return false;
  std::vector<table_row> shown;
  for (auto& row : rows)
    if (shown.size() < most_sayings) shown.push_back(std::move(row.second));
  print_table(out, {"the driver said", "behind", "trials"}, shown, table_style::markdown);
  return true;
}

}  // namespace

marked_code code_between_marks(const std::vector<fs::path>& folders, const std::string& name,
                               const std::string& which) {
  const std::string mark = fmt::format("[{} {}]", name, which);
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      marked_code code{file.extension() == ".py" ? "python" : "cpp", {}};
      bool inside = false, ended = false;
      std::size_t indent = 0;  // of the marks
      each_line(read_text(file), [&](std::string_view line, int, bool) {
        const bool marked = line.ends_with(" " + mark);
        ended = ended || (inside && line.ends_with(" [end]"));
        if (marked) indent = line.find_first_not_of(' ');
        if (inside && !ended) code.text.append(line.substr(std::min(indent, line.size()))).append("\n");
        inside = inside || marked;
      });
      if (ended) return code;
      if (inside) throw input_error(fmt::format("{}: no [end] behind {}", file.string(), mark));
    }
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders) names.push_back(folder.string());
  throw input_error(fmt::format("{}: no source has the mark {}", fmt::join(names, ", "), mark));
}

void print_message_page(std::ostream& out, const message_page& page, const explanation& e,
                        const lexicon& words, std::span<const record> records, const cost_notes& costs,
                        const std::vector<fs::path>& sources) {
  const auto heading = [&](std::string_view text) { print_heading(out, text, 2, table_style::markdown); };
  const page_facts facts = facts_of(page, words, records);
  heading("What you see");
  print_seen(out, page, words, facts);
  heading("What had happened before");
  if (e.causes.empty())
    out << "No cause of it is known.\n\n";
  else
    print_ways(out, e, table_style::markdown, 0, costs);
  if (!page.snippet.empty()) {
    const std::string name = page.snippet.substr(page.snippet.find('/') + 1);
    for (const auto& [title, which, arm] :
         {std::tuple{"Code that fails", "fails", page.snippet},
          std::tuple{"The same code, corrected", "corrected", page.snippet + "_corrected"}}) {
      const marked_code code = code_between_marks(sources, name, which);
      const std::string seen = measured(arm, records);
      if (!seen.starts_with(not_measured) && arm == page.snippet && page.framework.empty() &&
          std::ranges::none_of(facts.arms_of_call,
                               [&name = page.snippet](const auto& of) { return of.second.contains(name); }))
        throw input_error(
            fmt::format("{}: its records do not show {}, of which its page is", arm, page.status));
      heading(seen.starts_with(not_measured) ? title + std::string(", not measured yet") : title);
      out << fmt::format("```{}\n{}```\n\n{}: {}.\n\n", code.language, code.text, as_code(arm), seen);
    }
  }
  std::ostringstream differences, driver;
  if (print_differences(differences, page, facts) || page.framework.empty()) {
    heading("Versions in which it differs");
    const std::string found = differences.str();
    out << (found.empty() ? "None of the recorded versions of cuBLAS, where one arm ran with several.\n\n"
                          : found);
  }
  if (print_driver(driver, facts, words, records)) {
    heading("The driver's words");
    out << driver.str();
  }
  heading("More");
  if (!page.framework.empty())
    out << "`cufault explain` with your program's output ranks these causes by it.\n";
  if (page.framework.empty() && facts.recorded.empty()) out << "No record has a call that returned it.\n";
  if (page.framework.empty() && !facts.recorded.empty())
    out << fmt::format("`cufault causes {} --all`: each recorded way, and each remedy that was tried.\n",
                       *facts.recorded.begin());
}

void print_message_index(std::ostream& out, const lexicon& words, table_style style, std::size_t width) {
  std::vector<table_row> rows;
  for (const message_page& p : words.pages) {
    const std::string text = p.texts.empty() ? p.status : p.texts.front();
    rows.push_back(style == table_style::text ? table_row{p.name, text}
                                              : table_row{as_code(text), p.framework,
                                                          fmt::format("[{0}](messages/{0}.md)", p.name)});
  }
  if (style == table_style::text)
    print_table(out, {"page", "what is printed"}, rows, style, width);
  else
    print_table(out, {"what is printed", "by", "page"}, rows, style);
}

}  // namespace cufault
