// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/fleet.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>

namespace cufault {

/// Members, how their stacks differ, outliers by name, pooled rates of arms that race, and counts.
void print_merged(std::ostream& out, const merged_records& merged, table_style style);
/// {"schema": 1, "exit_code", "members": [...], "stacks": {...}, "arms": [...]}: all arms. Members are indices.
nlohmann::json to_json(const merged_records& merged);

/// Of so many hosts: what is wrong with which.
void print_hosts(std::ostream& out, const std::vector<host_finding>& found, std::size_t hosts,
                 table_style style);
/// [{"host", "code", "text"}]
nlohmann::json to_json(const std::vector<host_finding>& found);

}  // namespace cufault
