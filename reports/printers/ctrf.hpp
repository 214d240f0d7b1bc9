// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/run_report.hpp"

#include <span>
#include <string>

namespace cufault {

/// The run in the Common Test Report Format (ctrf.io): a test an arm. Statuses are those of JUnit; an error is "failed". What cufault
/// knows beyond them is in `extra`.
std::string ctrf_json(const run_report& report);
/// Of several stacks: `extra` of a test has its stack, too.
std::string ctrf_json(std::span<const run_report> reports);

}  // namespace cufault
