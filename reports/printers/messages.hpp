// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/driver_sayings.hpp"
#include "reports/printers/table.hpp"

#include <iosfwd>

namespace cufault {

/// Calls whose failing driver call the driver named, beside what the same failure led to where a sweep injected it.
void print_nature(std::ostream& out, const std::vector<nature_and_injection>& pairs, table_style style);
nlohmann::ordered_json to_json(const std::vector<nature_and_injection>& pairs);

}  // namespace cufault
