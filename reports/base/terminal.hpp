// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is known of a terminal, and how text keeps to its width.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What a stream shows. A file or a pipe has no width (0) and no colour.
struct terminal {
  std::size_t width = 0;  ///< columns: COLUMNS, or what the terminal says
  bool colour = false;    ///< not with NO_COLOR or TERM=dumb
};
/// Only std::cout and std::cerr can be terminals.
terminal terminal_of(const std::ostream& out);
/// For text that always keeps to a width: that of the terminal at standard output, or COLUMNS; 100 where there is neither.
std::size_t width_of_output();

enum class paint { plain, bold, good, bad, doubtful };
/// In colour where the terminal has it.
std::string painted(std::string_view text, paint how, const terminal& shown);

/// Columns that a terminal needs for it; colours need none.
std::size_t columns_of(std::string_view text);
/// Breaks text into lines of at most `width` columns, at blanks. Each line keeps the indent of the text. A longer word breaks behind a
/// separator, or at the width if it has none. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// A line as it is where it is not wider. Else the lines that follow the first begin below its last column, or below the text behind its
/// label; where it has neither, two columns further in, or, deep in a line, as the text. No blank ends a line.
std::vector<std::string> kept_to_width(std::string_view line, std::size_t width);

/// While it lives, lines that are written to `out` keep to the width of its terminal. Of another stream: nullptr.
std::unique_ptr<std::streambuf> keep_to_width(std::ostream& out);

}  // namespace cufault
