// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/table.hpp"

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// The text in lines of at most `width` characters: broken at blanks, a longer word where it has to be. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// As print_table() in the style text, in lines of at most `width` characters: cells are wrapped, and columns that do not fit beside one
/// another follow below, each time with the first column. A line is never narrower than one column needs.
void print_wrapped_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                         std::size_t width);

}  // namespace cufault
