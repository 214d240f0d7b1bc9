// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/claims.hpp"
#include "reports/record.hpp"

#include <iosfwd>

namespace cufault {

enum class table_style { text, markdown };

/// Verdict table of a run: one line an arm (case, arm, kind, what was seen, verdict), worst verdicts first
/// within a case, then a line of counts by verdict, then what each verdict other than an expected one asks
/// the reader to do.
void print_verdicts(std::ostream& out, const record& r, table_style style);

/// Claims with their verdict and the arms behind it.
void print_claims(std::ostream& out, const std::vector<claim_verdict>& verdicts, table_style style);

/// Arms whose signatures differ between two records, and arms that only one of them has; then a count of
/// equal arms. Returns the number of differing or missing arms.
int print_differences(std::ostream& out, const record& before, const record& after, table_style style);

}  // namespace cufault
