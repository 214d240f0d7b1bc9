// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/history/view.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>

namespace cufault {

/// Since which stack each arm is what it is, and how often it flakes. Without `details` arms that are the same on all stacks and never
/// flake are only counted; with them each arm has a line for each stack and result.
enum class history_extent { overview, details };
void print_history(std::ostream& out, const history_view& view, table_style style, history_extent extent);
/// {"schema": 1, "runs", "first", "last", "stacks": [...], "arms": [{"arm", "since": index of a stack, "stacks": [...]}]}
nlohmann::json to_json(const history_view& view);

}  // namespace cufault
