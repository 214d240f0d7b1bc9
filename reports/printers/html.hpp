// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/report.hpp"

#include <cstddef>
#include <string>

namespace cufault {

/// Of index.html. Larger pages are slow to open, and many services do not show them.
inline constexpr std::size_t html_limit = 2'200'000;

/// The report as one page that asks for nothing from elsewhere: stacks, what is unexpected, the matrix, memory, the atlas, claims, all
/// arms. Below html_limit: rows that do not fit are counted, and are in the records beside it.
std::string html_page(const report& r);

/// Sections that are drawn as SVG, with a table below each (html_charts.cpp). Each has at most `room` bytes.
std::string html_memory(const report& r, std::size_t room);
std::string html_atlas(const report& r, std::size_t room);

/// A table in a region that scrolls by itself and can be reached by the keyboard. Rows are whole `<tr>` elements; those that do not fit in
/// `room` are counted below it.
std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::string>& rows, std::size_t room,
                       const std::string& classes = "");

}  // namespace cufault
