// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/history/changes.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace cufault {

/// Of the JSON, reports/schemas/changes.schema.json.
inline constexpr int changes_schema = 1;

/// What changed when, as it is told.
struct change_report {
  std::string gpu{}, driver{};
  release_changes found{};
  std::vector<file_history> files{};
  std::vector<release_note> notes{};
};

/// Changes by harm, then by release; facts of files; what release notes say. A change keeps its number. `release`: only the changes that it shows
/// first; empty: all. `width`: of a line of the tables, in the style text.
void print_changes(std::ostream& out, const change_report& all, const std::string& release, table_style style,
                   std::size_t width);
nlohmann::ordered_json to_json(const change_report& all, const std::string& release);

}  // namespace cufault
