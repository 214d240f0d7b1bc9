// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// Tables of what a status can mean:
/// - cells of the matrix that came to it, and on what that depends;
/// - calls of fault arms that returned it;
/// - what was done against it, whether that cleared it, and what that costs;
/// - driver calls whose failure leads to it (the atlas).
/// What is made up comes last. Cases whose control is unresolved and injected counterparts are left out.
/// `status`: in full, or status_wrong_numbers. `width`: of lines of text.
void print_causes(std::ostream& out, const std::string& status, std::span<const record> records,
                  table_style style, const cost_notes& costs = {}, std::size_t width = 100);
/// The same for programs: "cells", "arms", "remedies" and "driver_calls", each row with its stacks.
std::vector<named_table> tables_of_causes(const std::string& status, std::span<const record> records,
                                          const cost_notes& costs = {});

}  // namespace cufault
