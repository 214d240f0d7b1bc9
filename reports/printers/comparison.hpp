// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/comparison.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>

namespace cufault {

/// What is told: a line a change (groups_of()); the name of each arm that differs; what differs in each, before → now, and all that each
/// record saw.
enum class arm_extent { groups, names, whole };

/// The differences of the stacks, then what changed, the worst first, then what is only noted, then allowances and counts. `command` is
/// "gate" or "diff"; a gate says whether it passed. Markdown stays below markdown_limit: what does not fit is counted.
void print_comparison(std::ostream& out, const comparison& all, const std::string& command, table_style style,
                      arm_extent extent = arm_extent::groups);
/// {"schema": 2, "exit_code", "reasons", "records", "stacks", "groups", "arms": all that differ or are noted, "counts": {...}, ...}
nlohmann::json to_json(const comparison& all);

}  // namespace cufault
