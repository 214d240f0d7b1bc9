// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/table.hpp"

#include "reports/printers/advice.hpp"
#include "reports/printers/html_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <ostream>

namespace cufault {

std::string cell(std::string_view text, table_style style) {
  std::string safe;
  for (const char c : text) {
    if (style == table_style::markdown && (c == '|' || c == '<' || c == '\n'))
      safe += c == '|' ? "\\|" : c == '<' ? "&lt;" : "<br>";
    else
      safe += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  }
  return safe;
}

paint paint_of(std::string_view word) {
  for (const advice& a : advices)
    if (to_string(a.v) == word)
      return a.asks.empty() ? paint::good
             : a.v == verdict::unresolved || a.v == verdict::not_provoked || a.v == verdict::unrecorded
                 ? paint::doubtful
                 : paint::bad;
  return paint::plain;
}

void print_heading(std::ostream& out, std::string_view text, int level, table_style style) {
  if (style == table_style::markdown) out << std::string(static_cast<std::size_t>(level), '#') << ' ';
  out << (style == table_style::text ? painted(cell(text, style), paint::bold, terminal_of(out))
                                     : cell(text, style))
      << "\n\n";
}

namespace {

constexpr int tables_schema = 2;
constexpr std::size_t gap = 2, narrowest = 16, inset = 4;

/// How wide each of these columns may be, so that together they keep to the width: narrow ones get what they need, the rest share.
std::vector<std::size_t> shared_widths(std::vector<std::size_t> wanted, std::size_t width) {
  const std::size_t gaps = gap * (wanted.size() - 1);
  std::size_t left = width > gaps ? width - gaps : 0;
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t& w = wanted[order[i]];
    w = std::max<std::size_t>(1, std::min(w, left / (order.size() - i)));
    left -= std::min(left, w);
  }
  return wanted;
}

class text_table {
 public:
  text_table(std::ostream& out, const terminal& shown, const table_row& head,
             const std::vector<table_row>& rows)
      : out_(out), shown_(shown), rows_{&head}, wanted_(head.size(), 1) {
    for (const table_row& row : rows) rows_.push_back(&row);
    for (const table_row* row : rows_)
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        wanted_[i] = std::max(wanted_[i], columns_of((*row)[i]));
  }

  /// Columns that do not fit in one line of these widths stand below each row, as does a last one that needs much more than there is, and
  /// than the one before it.
  void in_terminal(std::size_t width) {
    std::vector<std::size_t> columns, of;
    std::size_t least = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      least += std::min(wanted_[i], narrowest) + (i > 0 ? gap : 0);
      if (i > 0 && (least > width ||
                    (i + 1 == wanted_.size() && wanted_[i] > width / 3 && wanted_[i] > 2 * wanted_[i - 1])))
        break;
      columns.push_back(i);
      of.push_back(wanted_[i]);
    }
    print(columns, shared_widths(of, width), width);
  }

  void whole() {
    std::vector<std::size_t> columns(wanted_.size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    print(columns, wanted_, 0);
  }

  [[nodiscard]] std::size_t width() const {
    return std::accumulate(wanted_.begin(), wanted_.end(), gap * (wanted_.size() - 1));
  }

 private:
  /// `below`: the width in which the cells behind these columns stand below each row; 0 for nowhere.
  void print(const std::vector<std::size_t>& columns, const std::vector<std::size_t>& widths,
             std::size_t below) {
    for (const table_row* row : rows_) {
      const bool is_head = row == rows_.front();
      std::vector<std::vector<std::string>> cells;
      std::size_t height = 1;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        cells.push_back(widths[i] < wanted_[columns[i]]
                            ? wrapped((*row)[columns[i]], widths[i])
                            : std::vector{cell((*row)[columns[i]], table_style::text)});
        height = std::max(height, cells.back().size());
      }
      const bool empty =
          height == 1 && std::ranges::all_of(cells, [](const auto& c) { return c[0].empty(); });
      for (std::size_t line = 0; line < height && !(empty && below != 0); ++line) {
        std::size_t blanks = 0;  // in front of the next part: none end a line
        for (std::size_t i = 0; i < columns.size(); ++i) {
          const std::string part = line < cells[i].size() ? cells[i][line] : std::string();
          if (!part.empty()) {
            out_ << std::string(blanks, ' ')
                 << painted(part, is_head ? paint::bold : paint_of((*row)[columns[i]]), shown_);
            blanks = 0;
          }
          blanks += widths[i] + gap - columns_of(part);
        }
        out_ << '\n';
      }
      if (below != 0) print_below(*row, is_head, columns.size(), below);
    }
  }

  /// One cell as it is; of several each with the head of its column.
  void print_below(const table_row& row, bool is_head, std::size_t first, std::size_t width) {
    const bool one = first + 1 == row.size();
    if (is_head && !one) return;
    const std::string inside(std::min(inset, width - 1), ' ');
    for (std::size_t i = first; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      std::string text = one ? row[i] : fmt::format("{}: {}", (*rows_.front())[i], row[i]);
      for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at)) text.replace(at, 1, "; ");
      for (const std::string& part : wrapped(text, width - inside.size()))
        out_ << inside << painted(part, is_head ? paint::bold : paint::plain, shown_) << '\n';
    }
  }

  std::ostream& out_;
  terminal shown_;
  std::vector<const table_row*> rows_;
  std::vector<std::size_t> wanted_;
};

/// Without the blank line behind it.
void print_text_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows) {
  const terminal shown = terminal_of(out);
  text_table table(out, shown, head, rows);
  if (shown.width > 0 && table.width() > shown.width)
    table.in_terminal(shown.width);
  else
    table.whole();
}

template <class Of, class Text>
table_row shown_of(const std::vector<table_column>& columns, const std::vector<Of>& all, Text text) {
  table_row row;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].heading.empty()) row.push_back(all[i].*text);
  return row;
}

nlohmann::ordered_json json_rows(const named_table& t) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& row : t.rows) {
    auto& one = all.emplace_back(nlohmann::ordered_json::object());
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!t.columns[i].key.empty())
        std::visit([&](const auto& value) { one[t.columns[i].key] = value; }, row[i].value);
  }
  return all;
}

}  // namespace

void print_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                 table_style style) {
  if (style == table_style::text) {
    print_text_table(out, head, rows);
  } else {
    const auto print_markdown = [&](const table_row& cells) {
      for (const auto& text : cells) out << "| " << cell(text, style) << ' ';
      out << "|\n";
    };
    print_markdown(head);
    print_markdown(table_row(head.size(), "---"));
    for (const auto& cells : rows) print_markdown(cells);
  }
  out << '\n';
}

table_value table_value::count(std::uint64_t number) {
  return {std::to_string(number), static_cast<std::int64_t>(number)};
}

table_row named_table::head() const {
  return shown_of(columns, columns, &table_column::heading);
}

std::vector<table_row> named_table::shown_rows() const {
  std::vector<table_row> all;
  for (const auto& row : rows) all.push_back(shown_of(columns, row, &table_value::text));
  return all;
}

void print_tables(std::ostream& out, const std::vector<named_table>& tables, int level, table_style style) {
  for (const named_table& t : tables) {
    print_heading(out, t.title.empty() ? t.stack : t.title,
                  t.stack.empty() || t.title.empty() ? level : level + 1, style);
    if (t.rows.empty())
      out << "None.\n\n";
    else
      print_table(out, t.head(), t.shown_rows(), style);
  }
}

nlohmann::ordered_json to_json(const std::vector<named_table>& tables) {
  nlohmann::ordered_json json{{"schema", tables_schema}};
  for (const named_table& t : tables) {
    if (t.stack.empty()) {
      json[t.name] = json_rows(t);
      continue;
    }
    auto& stacks = json["stacks"];
    if (stacks.empty() || stacks.back()["stack"] != t.stack) stacks.push_back({{"stack", t.stack}});
    stacks.back()[t.name] = json_rows(t);
  }
  return json;
}

namespace {
constexpr std::size_t longest_line = 2000, room_for_last = 8192;
}  // namespace

std::string limited_output::shown(std::string_view text) const {
  if (!markdown() || text.size() <= longest_line) return cell(text, style_);
  return cell(beginning_of(text, longest_line, "..."), style_);
}

bool limited_output::put(const std::string& text) {
  if (markdown() && written_ + text.size() + room_for_last > markdown_limit) return false;
  out_ << text;
  written_ += text.size();
  return true;
}

void limited_output::heading(std::string_view text) {
  if (markdown()) put(fmt::format("## {}\n\n", shown(text)));
}

void limited_output::line(std::string_view text) {
  put(fmt::format("{}{}\n", markdown() ? "- " : "", shown(text)));
}

void limited_output::table(std::string_view title, const table_row& head,
                           const std::vector<table_row>& rows) {
  if (!markdown()) {
    out_ << fmt::format("\n{}:\n", shown(title));
    print_text_table(out_, head, rows);
    return;
  }
  const auto text_of = [&](const table_row& cells) {
    std::string text;
    for (const auto& c : cells) text += fmt::format("| {} ", shown(c));
    return text + "|\n";
  };
  std::size_t left = rows.size();
  if (put(fmt::format("\n### {}\n\n{}{}", shown(title), text_of(head),
                      text_of(table_row(head.size(), "---")))))
    for (const auto& row : rows) {
      if (!put(text_of(row))) break;
      --left;
    }
  put(left > 0 ? fmt::format("\n{} more do not fit here.\n\n", left) : "\n");
}

void limited_output::list(std::string_view title, const std::vector<std::string>& lines, std::size_t most) {
  std::size_t written = 0;
  const std::string bullet = markdown() ? "- " : "  ";
  if (put(markdown() ? fmt::format("\n### {}\n\n", shown(title)) : fmt::format("\n{}.\n", shown(title))))
    while (written < std::min(most, lines.size()) && put(bullet + shown(lines[written]) + '\n')) ++written;
  const std::size_t left = lines.size() - written;
  if (left == 0) return;
  put(written < most ? fmt::format("\n{} more do not fit here.\n", left)
                     : fmt::format("{}and {} more: --json has all\n", bullet, left));
}

void limited_output::last(std::string_view text, paint how) {
  out_ << (markdown() ? '\n' + shown(text) : painted(shown(text), how, terminal_of(out_))) << '\n';
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

}  // namespace cufault
