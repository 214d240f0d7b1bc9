// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

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

void print_heading(std::ostream& out, std::string_view text, int level, table_style style) {
  out << (style == table_style::markdown ? std::string(static_cast<std::size_t>(level), '#') + " "
                                         : std::string())
      << cell(text, style) << "\n\n";
}

void print_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                 table_style style) {
  const auto print_markdown = [&](const table_row& cells) {
    for (const auto& text : cells) out << "| " << cell(text, style) << ' ';
    out << "|\n";
  };
  if (style == table_style::markdown) {
    print_markdown(head);
    print_markdown(table_row(head.size(), "---"));
    for (const auto& cells : rows) print_markdown(cells);
    out << '\n';
    return;
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < head.size(); ++i) {
    widths.push_back(head[i].size());
    for (const auto& cells : rows) widths[i] = std::max(widths[i], cells[i].size());
  }
  const auto print_text = [&](const table_row& cells) {
    std::string line;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      line += fmt::format("{:<{}}  ", cell(cells[i], style), widths[i]);
    out << line << cell(cells.back(), style) << '\n';
  };
  print_text(head);
  for (const auto& cells : rows) print_text(cells);
  out << '\n';
}

namespace {
constexpr std::size_t longest_line = 2000, room_for_last = 8192;
}  // namespace

std::string limited_output::shown(std::string_view text) const {
  if (!markdown() || text.size() <= longest_line) return cell(text, style_);
  std::size_t end = longest_line;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // between characters
  return cell(text.substr(0, end), style_) + "...";
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
    std::ostringstream text;
    print_table(text, head, rows, style_);
    out_ << fmt::format("\n{}:\n{}", shown(title), text.str().substr(0, text.str().size() - 1));
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

void limited_output::last(std::string_view text) {
  out_ << '\n' << shown(text) << '\n';
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
