// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/matrix.hpp"

#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <utility>

namespace cufault {
namespace {

// ---- rows that are alike are one ----

/// What a row or column is called: a value for each of these, empty where it has none.
struct coordinates {
  std::string fault{}, operation{}, state{}, timing{};
  std::optional<std::int64_t> level{};
  std::string remedy{};
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const coordinates&, const coordinates&) = default;
};

/// A coordinate by itself, with the words around it.
struct dimension {
  std::function<std::string(const coordinates&)> value;  ///< sorts as it reads, but for levels
  const char* name;
  bool is_said = false;  ///< its name stands before its value
};

const std::vector<dimension>& dimensions() {
  static const std::vector<dimension> all{
      {[](const coordinates& c) { return c.fault; }, "fault"},
      {[](const coordinates& c) { return c.operation; }, "operation"},
      {[](const coordinates& c) { return c.state; }, "state"},
      {[](const coordinates& c) { return c.timing; }, "timing"},
      {[](const coordinates& c) { return c.level ? std::to_string(*c.level) : std::string(); }, "level",
       true},
      {[](const coordinates& c) { return c.remedy; }, "remedy", true}};
  return all;
}

/// Values of a dimension in the order of the coordinates, each once.
std::vector<std::string> values_in(const std::vector<coordinates>& of, const dimension& d) {
  std::vector<std::string> values;
  for (const coordinates& c : of)
    if (const auto v = d.value(c); std::ranges::find(values, v) == values.end()) values.push_back(v);
  return values;
}

/// "warm; arrived, synchronised (2)": of all coordinates those that are called so. Where they are no product of values, each is named.
std::string label(const std::vector<coordinates>& of, const std::vector<coordinates>& all) {
  std::size_t product = 1;
  std::vector<std::string> parts;
  for (const dimension& d : dimensions()) {
    auto values = values_in(of, d);
    const auto universe = values_in(all, d);
    product *= values.size();
    if (universe.size() == 1 ? universe.front().empty() : values.size() == universe.size() && of.size() > 1)
      continue;
    if (values == std::vector{std::string()}) continue;
    const bool said = d.is_said && !values.front().empty();
    std::ranges::replace(values, std::string(), fmt::format("no {}", d.name));
    parts.push_back(fmt::format("{}{}{}", said ? d.name : "", said ? " " : "", fmt::join(values, ", ")));
  }
  std::string text;
  if (product == of.size()) {
    text = parts.empty() ? "all" : fmt::format("{}", fmt::join(parts, "; "));
  } else {
    std::vector<std::string> names;
    for (const coordinates& c : of) {
      std::vector<std::string> words;
      for (const dimension& d : dimensions())
        if (const auto v = d.value(c); !v.empty()) words.push_back(v);
      names.push_back(fmt::format("{}", fmt::join(words, ".")));
    }
    text = fmt::format("{}", fmt::join(names, ", "));
  }
  return of.size() == 1 ? text : fmt::format("{} ({})", text, of.size());
}

/// Keys with equal values, in the order of the first of each.
template <class Key, class Value>
std::vector<std::pair<std::vector<Key>, Value>> merged(const std::vector<std::pair<Key, Value>>& all) {
  std::vector<std::pair<std::vector<Key>, Value>> some;
  for (const auto& one : all) {
    const auto known = std::ranges::find_if(some, [&](const auto& s) { return s.second == one.second; });
    if (known == some.end())
      some.push_back({{one.first}, one.second});
    else
      known->first.push_back(one.first);
  }
  return some;
}

/// Lines below a word for them; nothing where there are none.
void print_lines(std::ostream& out, std::string_view title, const std::vector<std::string>& lines,
                 const matrix_layout& layout) {
  if (lines.empty()) return;
  const bool markdown = layout.style == table_style::markdown;
  out << title << (markdown ? ":\n\n" : ":\n");
  for (const std::string& line : lines) {
    if (markdown) {
      out << "- " << cell(line, layout.style) << '\n';
      continue;
    }
    constexpr std::size_t indent = 2;
    const char* before = "  ";
    for (const std::string& part :
         wrapped(line, std::max<std::size_t>(layout.width, 3 * indent) - 2 * indent)) {
      out << before << part << '\n';
      before = "    ";
    }
  }
  out << '\n';
}

// ---- a section ----

/// The cells as a table, and in `notes` why cells of it are empty.
void print_cells(std::ostream& out, const std::vector<observed_cell>& cells, const matrix_layout& layout,
                 std::vector<std::string>& notes) {
  std::set<coordinates> rows_there;
  std::set<std::string> operations;
  std::map<std::pair<coordinates, std::string>, std::string> text;
  for (const observed_cell& c : cells) {
    const coordinates row{
        layout.along == axis::fault ? c.fault : "", "", c.at.state, c.at.timing, c.at.level, ""};
    rows_there.insert(row);
    operations.insert(c.at.operation);
    std::string& shown = text[{row, c.at.operation}];
    shown = shown_outcome(c);
    if (was_observed(c)) continue;
    const auto known = std::ranges::find(notes, c.why_not);
    shown = fmt::format("[{}]", known - notes.begin() + 1);
    if (known == notes.end()) notes.push_back(c.why_not);
  }
  const std::vector<coordinates> all_rows(rows_there.begin(), rows_there.end());
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
  for (const std::string& o : operations) {
    columns.push_back({o, {}});
    for (const coordinates& r : all_rows) {
      const auto there = text.find({r, o});
      columns.back().second.push_back(there == text.end() ? "" : there->second);
    }
  }
  const auto of_columns = merged(columns);
  table_row head{layout.along == axis::fault ? "fault" : "operation"};
  for (const auto& [names, values] : of_columns)
    head.push_back(names.size() == 1
                       ? names.front()
                       : fmt::format("{} operations: {}", names.size(), fmt::join(names, ", ")));
  std::vector<std::pair<coordinates, table_row>> lines;
  for (std::size_t i = 0; i < all_rows.size(); ++i) {
    table_row line;
    for (const auto& column : of_columns) line.push_back(column.second[i]);
    lines.emplace_back(all_rows[i], std::move(line));
  }
  std::vector<table_row> rows;
  for (const auto& [keys, values] : merged(lines)) {
    rows.push_back({label(keys, all_rows)});
    rows.back().insert(rows.back().end(), values.begin(), values.end());
  }
  print_table(out, head, rows, layout.style, layout.width);
}

std::string contexts_of(const std::vector<observed_cell>& cells) {
  std::map<std::string, std::size_t> counts;
  for (const observed_cell& c : cells)
    if (was_observed(c)) ++counts[c.context];
  std::vector<std::string> words;
  for (const auto& [context, n] : counts)
    words.push_back(fmt::format("{} in {}", context, plural(n, "cell")));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// What the remedy costs, where it cleared something and that was measured.
std::string cost_of(const matrix_section& s, const std::string& stack, const cost_notes& costs) {
  const bool clears = std::ranges::any_of(
      s.cells, [](const observed_cell& c) { return was_observed(c) && c.result == remedy_result::cleared; });
  return clears ? note_of(costs, stack, s.remedy) : std::string();
}

/// "release: cleared where cold: 12 cells; else still fails: 8 cells; nothing to clear in 4 cells; costs 3.0 %; 64 MiB".
std::string remedy_line(const matrix_section& s, axis along, const std::string& cost) {
  std::vector<observed_cell> against_failures;
  std::map<std::string, std::size_t> others;
  for (const observed_cell& c : s.cells) {
    if (!was_observed(c))
      ++others["not observed"];
    else if (c.result == remedy_result::nothing_to_clear || c.result == remedy_result::not_prepared ||
             c.result == remedy_result::unknown)
      ++others[to_string(c.result)];
    else
      against_failures.push_back(c);
  }
  std::vector<std::string> words = describe(conditions_of(against_failures, along), "cell");
  for (const auto& [word, n] : others) words.push_back(fmt::format("{} in {}", word, plural(n, "cell")));
  if (!cost.empty()) words.push_back(cost);
  return fmt::format("{}: {}", s.remedy, fmt::join(words, "; "));
}

void print_section(std::ostream& out, const matrix_section& s, const std::vector<std::string>& remedies,
                   const matrix_layout& layout) {
  const auto unseen = std::ranges::count_if(s.cells, [](const observed_cell& c) { return !was_observed(c); });
  const bool made_up = std::ranges::all_of(s.cells, [](const observed_cell& c) { return c.made_up; });
  std::string title = s.name;
  if (!s.remedy.empty()) title += ", remedy " + s.remedy;
  if (made_up) title += " (made up)";
  title += ": " + plural(s.cells.size(), "cell");
  if (unseen > 0) title += fmt::format(", {} not observed", unseen);
  print_heading(out, title, 4, layout.style);
  std::vector<std::string> notes;
  print_cells(out, s.cells, layout, notes);
  print_lines(out, "What it depends on", describe(conditions_of(s.cells, layout.along), "cell"), layout);
  if (const std::string contexts = contexts_of(s.cells); !contexts.empty())
    print_lines(out, "Context afterwards", {contexts}, layout);
  print_lines(out, "Remedies", remedies, layout);
  for (std::size_t i = 0; i < notes.size(); ++i) notes[i] = fmt::format("[{}] {}", i + 1, notes[i]);
  print_lines(out, "Not observed", notes, layout);
}

}  // namespace

void print_matrix(std::ostream& out, const std::vector<stack_matrix>& all, const matrix_layout& layout,
                  const cost_notes& costs) {
  for (const stack_matrix& m : all) {
    print_heading(out, m.stack, 3, layout.style);
    const auto sections = sections_of(m, layout.along);
    for (auto s = sections.begin(); s != sections.end();) {
      const auto next =
          std::find_if(s, sections.end(), [&](const matrix_section& o) { return o.name != s->name; });
      if (!s->remedy.empty()) {
        for (; s != next; ++s) {
          print_section(out, *s, {}, layout);
          if (const std::string cost = cost_of(*s, m.stack, costs); !cost.empty())
            print_lines(out, "Its cost", {cost}, layout);
        }
        continue;
      }
      std::vector<std::string> remedies;
      for (auto r = s + 1; r != next; ++r)
        remedies.push_back(remedy_line(*r, layout.along, cost_of(*r, m.stack, costs)));
      print_section(out, *s, remedies, layout);
      s = next;
    }
  }
  if (all.empty() || all.front().cells.empty()) return;
  const bool markdown = layout.style == table_style::markdown;
  out << fmt::format("To observe a cell again: {1}{0}{1}\n",
                     repeats(all.front().cells.front(), all.front().libraries), markdown ? "`" : "");
}

stack_comparison compare_stacks(const std::vector<stack_matrix>& all, const std::vector<std::string>& keys) {
  std::map<std::string, std::map<std::string, std::pair<observed_cell, std::set<std::string>>>> groups;
  std::set<std::string> names;
  for (const stack_matrix& m : all) {
    std::vector<std::string> words;
    for (const std::string& key : keys) {
      const auto value = m.keys.find(key);
      words.push_back(fmt::format("{} {}", key, value == m.keys.end() ? "unknown" : value->second));
    }
    auto& group = groups[fmt::format("{}", fmt::join(words, ", "))];
    for (const observed_cell& c : m.cells) {
      names.insert(name_of(c));
      if (!was_observed(c)) continue;
      auto& [cell, outcomes] = group.try_emplace(name_of(c), c, std::set<std::string>{}).first->second;
      // Rates differ from run to run; the outcomes of a cell that races are compared.
      if (c.result != remedy_result::none) {
        outcomes.insert(shown_outcome(c));
      } else {
        for (const auto& [word, times] : c.outcome) outcomes.insert(word);
      }
    }
  }
  stack_comparison result;
  for (const auto& [group, cells] : groups) result.groups.push_back(group);
  for (const std::string& name : names) {
    stack_comparison::difference d;
    std::set<std::string> distinct;
    for (const auto& [group, cells] : groups) {
      const auto there = cells.find(name);
      if (there == cells.end()) break;
      if (d.shown.empty()) d.cell = there->second.first;
      d.shown.push_back(fmt::format("{}", fmt::join(there->second.second, " or ")));
      distinct.insert(d.shown.back());
    }
    if (d.shown.size() < groups.size())
      ++result.not_in_all;
    else if (distinct.size() < 2)
      ++result.equal;
    else
      result.differing.push_back(std::move(d));
  }
  return result;
}

void print_comparison(std::ostream& out, const stack_comparison& c, const matrix_layout& layout) {
  std::vector<std::pair<coordinates, table_row>> lines;
  std::vector<coordinates> all;
  for (const auto& d : c.differing) {
    const cell_name& at = d.cell.at;
    lines.push_back({{d.cell.fault, at.operation, at.state, at.timing, at.level, at.remedy}, d.shown});
    all.push_back(lines.back().first);
  }
  table_row head{"cells"};
  head.insert(head.end(), c.groups.begin(), c.groups.end());
  std::vector<table_row> rows;
  for (const auto& [keys, values] : merged(lines)) {
    rows.push_back({label(keys, all)});
    rows.back().insert(rows.back().end(), values.begin(), values.end());
  }
  if (!rows.empty()) print_table(out, head, rows, layout.style, layout.width);
  out << fmt::format("{} different, {} equal", plural(c.differing.size(), "cell"), c.equal);
  if (c.not_in_all > 0) out << fmt::format(", {} not observed in all", c.not_in_all);
  out << '\n';
}

std::vector<stack_matrix> differing_cells(const std::vector<stack_matrix>& all, const stack_comparison& c) {
  std::set<std::string> names;
  for (const auto& d : c.differing) names.insert(name_of(d.cell));
  std::vector<stack_matrix> some = all;
  for (stack_matrix& m : some)
    std::erase_if(m.cells, [&](const observed_cell& one) { return !names.contains(name_of(one)); });
  std::erase_if(some, [](const stack_matrix& m) { return m.cells.empty(); });
  return some;
}

}  // namespace cufault
