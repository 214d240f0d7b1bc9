// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/gate.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <span>

namespace cufault {

/// Arms that changed from the first record to any other (two records at least), as compare_arms() says, and arms that not all of
/// them have, unless `missing` is to be counted only; then a count of equal arms. An arm that was observed in none is neither.
/// Returns the number of differing or missing arms.
enum class missing_arms { shown, counted };
int print_differences(std::ostream& out, std::span<const record> records, table_style style,
                      missing_arms missing = missing_arms::shown);

/// What a gate found: the differences of the stacks, then the arms, the worst changes first, then allowances and counts. Markdown stays
/// below markdown_limit: what does not fit is counted.
enum class gate_extent { names, reasons };  ///< of arms that are not unchanged
void print_gate(std::ostream& out, const gate_report& report, table_style style,
                gate_extent extent = gate_extent::reasons);
/// {"schema": 1, "exit_code", "reasons", "baseline", "candidate", "stacks": [...], "arms": [...], "counts": {...}, ...}
nlohmann::json to_json(const gate_report& report);

}  // namespace cufault
