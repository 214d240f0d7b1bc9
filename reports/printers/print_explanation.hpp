// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/explanation.hpp"
#include "reports/judge/cost.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>

namespace cufault {

/// Of explanation_json(); reports/schemas/explanation.schema.json.
inline constexpr int explanation_schema = 1;

/// For people, in at most 8 lines of at most 100 columns, in a narrower terminal in more: what failed, the first cause, its check, what clears it, the command that shows
/// it, the other causes, and whose measurements these are. Text of the log is printable ASCII in it.
void print_first_answer(std::ostream& out, const explanation& e, const std::string& log);

/// All of it: whether the process can go on, the failure, then at most three causes.
void print_explanation(std::ostream& out, const explanation& e, const std::string& log,
                       const cost_notes& costs = {});

/// The explanation for programs. `log`: what was read: a file, "standard input", "command line".
nlohmann::ordered_json explanation_json(const explanation& e, const std::string& log);

}  // namespace cufault
