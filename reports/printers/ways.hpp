// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/explanation.hpp"
#include "reports/judge/table.hpp"
#include "reports/printers/table.hpp"

#include <cstddef>
#include <iosfwd>
#include <string>

namespace cufault {

/// Of a status without a log: its causes, each a block of at most six lines, with the check that decides, what documents say that clears it,
/// remedies that were measured, with what they cost, and the trials that show it. Text keeps to the width. Stacks and costs of a cause are
/// of those that its trials are of.
void print_ways(std::ostream& out, const explanation& e, table_style style, std::size_t width,
                const cost_notes& costs);
/// The same as rows of the table page_causes.
void begin_ways(row_writer& to);
void write_ways(row_writer& to, const std::string& page, const explanation& e, const cost_notes& costs);

}  // namespace cufault
