// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
/// Rows have as many cells as the head. A blank line follows.
void print_table(std::ostream& out, const table_row& head, const std::vector<table_row>& rows,
                 table_style style);
std::string plural(std::size_t count, std::string_view noun);  ///< "1 arm", "2 arms"

}  // namespace cufault
