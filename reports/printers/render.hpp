// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/judge/counterparts.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace cufault {

/// Verdict table of a run: one line an arm (case, arm, kind, what was seen, verdict), worst verdicts first
/// within a case, then a line of counts by verdict, then what each verdict other than an expected one asks
/// the reader to do. Beside a remedy that cleared its fault: what it costs, where that was measured on the stack.
/// `brief`: where arms are many, those that are not red are counted, in a line a case.
void print_verdicts(std::ostream& out, const record& r, table_style style, const cost_notes& costs = {},
                    bool brief = false);

/// "2 confirmed, 1 untested": each word once.
std::string counted_words(const std::vector<std::string>& words);

/// Injected counterparts beside their natural arms: whether they agree, on which stack, and if not, where they differ.
void print_counterparts(std::ostream& out, const std::vector<counterpart_comparison>& counterparts,
                        table_style style);
nlohmann::ordered_json to_json(const std::vector<counterpart_comparison>& counterparts);

}  // namespace cufault
