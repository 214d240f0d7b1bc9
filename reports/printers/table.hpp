// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/terminal.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cufault {

enum class table_style { text, markdown };

using table_row = std::vector<std::string>;

/// Of a verdict as it is printed; plain for any other word.
paint paint_of(std::string_view word);

/// Neither style survives a line break or a control byte within a cell, nor markdown what it would take for
/// markup.
std::string cell(std::string_view text, table_style style);
/// A line, which markdown shows as a heading of this level, and a blank line.
void print_heading(std::ostream& out, std::string_view text, int level, table_style style);
/// Rows have as many cells as the head. A blank line follows.
/// Text in a terminal keeps to its width: cells are wrapped, and columns that do not fit stand below each row.
void print_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                 table_style style);

/// "LABELtext" in a line.
inline void print_entry(std::ostream& out, std::string_view label, std::string_view text) {
  out << cell(label, table_style::text) << cell(text, table_style::text) << '\n';
}

/// For people, for whom it is empty where only programs get it; and for programs: snake_case, as in the schema, likewise.
struct table_column {
  std::string heading{}, key{};
};
/// For people, and for programs: null where there is nothing to say, or counts by what is counted.
struct table_value {
  using json =
      std::variant<std::nullptr_t, bool, std::int64_t, std::string, std::map<std::string, std::int64_t>>;
  table_value(std::string both) : text(both), value(std::move(both)) {}  // NOLINT: implicit
  table_value(const char* both) : table_value(std::string(both)) {}      // NOLINT: implicit
  table_value(std::string shown, json of_programs) : text(std::move(shown)), value(std::move(of_programs)) {}
  static table_value count(std::uint64_t number);
  std::string text;
  json value;
};
/// A table that people read under a heading and programs by its name.
struct named_table {
  std::string name{};   ///< "swallowed": its key in JSON
  std::string stack{};  ///< that all of its rows are of; empty: several, or none
  std::string title{};  ///< its heading; empty: that of the stack
  std::vector<table_column> columns{};
  std::vector<std::vector<table_value>> rows{};  ///< as many values as columns

  [[nodiscard]] table_row head() const;  ///< what people see of it
  [[nodiscard]] std::vector<table_row> shown_rows() const;
};
/// With headings of this level; titles of tables of a stack are one level below it. "None." stands for no rows.
void print_tables(std::ostream& out, const std::vector<named_table>& tables, int level, table_style style);
/// {"schema": 2, NAME: [{KEY: value}]}; tables of stacks in "stacks": [{"stack": STACK, NAME: [{KEY: value}]}].
nlohmann::ordered_json to_json(const std::vector<named_table>& tables);

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
  /// A line that is always there: it has room of its own.
  void last(std::string_view text, paint how = paint::plain);

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
