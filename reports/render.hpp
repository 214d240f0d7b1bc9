// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/claims.hpp"
#include "reports/record.hpp"
#include "reports/table.hpp"
#include "reports/twins.hpp"

#include <iosfwd>
#include <span>
#include <string>

namespace cufault {

/// Verdict table of a run: one line an arm (case, arm, kind, what was seen, verdict), worst verdicts first
/// within a case, then a line of counts by verdict, then what each verdict other than an expected one asks
/// the reader to do.
void print_verdicts(std::ostream& out, const record& r, table_style style);

/// Claims with their verdict and the arms behind it.
void print_claims(std::ostream& out, const std::vector<claim_verdict>& verdicts, table_style style);

/// Arms whose signatures are not the same in all records that were given (two at least), and arms that not all of
/// them have, unless `missing` is to be counted only; then a count of equal arms. An arm that was observed in none is neither. Arms that
/// race are the same where they share a signature. Returns the number of differing or missing arms.
enum class missing_arms { shown, counted };
int print_differences(std::ostream& out, std::span<const record> records, table_style style,
                      missing_arms missing = missing_arms::shown);

/// Every call that returned a status, with the fault arm that made it and the stacks on which it did: what that status
/// can mean. Cases whose control is unresolved are left out, and injected twins.
void print_causes(std::ostream& out, const std::string& status, std::span<const record> records,
                  table_style style);

/// Injected twins beside their natural arms: whether they agree, on which stack, and if not, where they differ.
void print_twins(std::ostream& out, const std::vector<twin_comparison>& twins, table_style style);

}  // namespace cufault
