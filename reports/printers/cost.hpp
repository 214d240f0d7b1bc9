// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>

namespace cufault {

/// Of the JSON, reports/schemas/cost.schema.json.
inline constexpr int cost_output_schema = 1;

struct cost_layout {
  table_style style = table_style::text;
  std::size_t width = 100;  ///< of a line of the tables, in the style text
  bool all_work = false;    ///< each kind of work beside the line for each remedy
};

/// Only remedies whose name matches, in which * is anything, and comparisons that have one; empty: all.
cost_record filtered(const cost_record& r, const std::string& remedy);

/// For each record: a line a remedy, what was not measured, and work that came to less than half of the GPU's peak.
void print_costs(std::ostream& out, std::span<const cost_record> records, const cost_layout& layout);
/// A line for each remedy on each kind of work, below a line of names.
void print_costs_csv(std::ostream& out, std::span<const cost_record> records);
nlohmann::ordered_json costs_json(std::span<const cost_record> records);
/// A picture: for each remedy its time relative to the work without it, on each kind of work.
std::string costs_svg(std::span<const cost_record> records);

/// What is printed where nothing was measured, and how to.
extern const char* const costs_not_measured;

}  // namespace cufault
