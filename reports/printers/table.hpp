// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

enum class table_style { text, markdown };

using table_row = std::vector<std::string>;

/// Neither style survives a line break or a control byte within a cell, nor markdown what it would take for
/// markup.
std::string cell(std::string_view text, table_style style);
/// A line, which markdown shows as a heading of this level, and a blank line.
void print_heading(std::ostream& out, std::string_view text, int level, table_style style);
/// Rows have as many cells as the head. A blank line follows.
void print_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                 table_style style);
/// A step summary of GitHub takes 1 MiB, and drops a longer one without a word.
inline constexpr std::size_t markdown_limit = std::size_t{900} << 10;

/// Writes a page of lines, lists and tables. As Markdown it stays below markdown_limit: of a list or table the rows that do not fit are
/// counted, and of a long line the beginning is kept.
class limited_output {
 public:
  limited_output(std::ostream& out, table_style style) : out_(out), style_(style) {}
  void heading(std::string_view text);  ///< of the page; in text there is none
  void line(std::string_view text);
  void table(std::string_view title, const table_row& head, const std::vector<table_row>& rows);
  /// At most so many lines.
  void list(std::string_view title, const std::vector<std::string>& lines, std::size_t most = SIZE_MAX);
  void last(std::string_view text);  ///< a line that is always there: it has room of its own

 private:
  [[nodiscard]] bool markdown() const { return style_ == table_style::markdown; }
  [[nodiscard]] std::string shown(std::string_view text) const;
  bool put(const std::string& text);  ///< false where it does not fit
  std::ostream& out_;
  table_style style_;
  std::size_t written_ = 0;
};

std::string csv_field(std::string_view text);                  ///< quoted where RFC 4180 asks for it
std::string plural(std::size_t count, std::string_view noun);  ///< "1 arm", "2 arms", "2 processes"

}  // namespace cufault
