// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/table.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cufault
