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

namespace cufault {

/// `width`: of lines of text. What a status can mean: cells of the matrix that came to it, and on what that depends; every call of a fault arm that returned it; what was
/// done against it, where that cleared it and what it costs there; and driver calls whose failure leads to it (the atlas). What is made up comes last. Cases whose
/// control is unresolved are left out, and injected counterparts. `status` is a status in full, or status_wrong_numbers.
void print_causes(std::ostream& out, const std::string& status, std::span<const record> records,
                  table_style style, const cost_notes& costs = {}, std::size_t width = 100);

}  // namespace cufault
