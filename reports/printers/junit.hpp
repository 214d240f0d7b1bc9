// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/printers/run_report.hpp"

#include <span>
#include <string>

namespace cufault {

/// The run as JUnit XML: a test suite a case, a test an arm. What differs from what was expected is a failure, what stayed unresolved an
/// error; what could not be provoked, and what no record of this stack judges, is skipped. Messages say what was expected and what was
/// seen.
std::string junit_xml(const run_report& report);
/// Of several stacks: the name of a suite has its stack, too.
std::string junit_xml(std::span<const run_report> reports);

}  // namespace cufault
