// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <span>
#include <vector>

namespace cufault {

/// What a user of a Python framework sees, what had happened, what the process is worth afterwards, and which remedies
/// cleared it: a table for each framework and stack, whose rows are the exceptions that operations of the framework
/// raised. Made-up faults are left out, and cases whose control is unresolved. None where no framework failed.
std::vector<named_table> frameworks_in(std::span<const record> records, const cost_notes& costs = {});

}  // namespace cufault
