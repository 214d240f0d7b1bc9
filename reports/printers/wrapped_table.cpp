// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/wrapped_table.hpp"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <sstream>

namespace cufault {
namespace {

constexpr std::size_t gap = 2, narrowest = 16;

/// How wide each of these columns may be, so that together they keep to the width: narrow ones get what they need, the rest share.
std::vector<std::size_t> shared_widths(std::vector<std::size_t> wanted, std::size_t width) {
  const std::size_t gaps = gap * (wanted.size() - 1);
  std::size_t left = width > gaps ? width - gaps : 0;
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t& w = wanted[order[i]];
    w = std::max<std::size_t>(1, std::min(w, left / (order.size() - i)));
    left -= std::min(left, w);
  }
  return wanted;
}

void print_columns(std::ostream& out, const std::vector<const table_row*>& rows,
                   const std::vector<std::size_t>& columns, const std::vector<std::size_t>& widths) {
  for (const table_row* row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      cells.push_back(wrapped((*row)[columns[i]], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::string part = line < cells[i].size() ? cells[i][line] : std::string();
        text += part;
        if (i + 1 < columns.size()) text += std::string(widths[i] + gap - part.size(), ' ');
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out << text << '\n';
    }
  }
  out << '\n';
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words{cell(text, table_style::text)};
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    while (word.size() > width) {
      lines.back() += word.substr(0, width);
      word.erase(0, width);
      lines.emplace_back();
    }
    lines.back() += word;
  }
  return lines;
}

void print_wrapped_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                         std::size_t width) {
  std::vector<const table_row*> all{&head};
  for (const table_row& row : rows) all.push_back(&row);
  std::vector<std::size_t> wanted(head.size(), 1);
  for (const table_row* row : all)
    for (std::size_t i = 0; i < head.size(); ++i) wanted[i] = std::max(wanted[i], (*row)[i].size());
  for (std::size_t next = 1; next < head.size() || next == 1;) {
    std::vector<std::size_t> columns{0}, of{wanted[0]};
    std::size_t least = std::min(wanted[0], narrowest);
    while (next < head.size() &&
           (columns.size() == 1 || least + gap + std::min(wanted[next], narrowest) <= width)) {
      least += gap + std::min(wanted[next], narrowest);
      columns.push_back(next);
      of.push_back(wanted[next++]);
    }
    print_columns(out, all, columns, shared_widths(of, width));
    if (next == 1) break;  // there is only one column
  }
}

}  // namespace cufault
