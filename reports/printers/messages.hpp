// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/driver_sayings.hpp"
#include "reports/printers/table.hpp"

#include <iosfwd>
#include <string>

namespace cufault {

/// What the driver says, what had happened, and which statuses stood in front of it; then what it says in calls that succeed. `asked`: only
/// messages that hold this text, of any case, or all parts of a line of the log; empty: all. Returns how many messages there were.
std::size_t print_messages(std::ostream& out, const driver_sayings& said, const lexicon& known,
                           const std::string& asked, table_style style);
nlohmann::ordered_json messages_json(const driver_sayings& said, const lexicon& known,
                                     const std::string& asked);

/// Calls whose failing driver call the driver named, beside what the same failure led to where a sweep injected it.
void print_nature(std::ostream& out, const std::vector<nature_and_injection>& pairs, table_style style);
nlohmann::ordered_json to_json(const std::vector<nature_and_injection>& pairs);

}  // namespace cufault
