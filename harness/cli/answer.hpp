// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands that only read: their options are read here, and a Python program of reports/answers answers from the table.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace cufault {

/// Becomes reports/answers/READER.py. It gets the options that were given, by their long names, and the records. Returns only if it cannot be
/// started: throws usage_error, for lack of a Python, say.
[[noreturn]] int answer(const std::string& reader, const CLI::App& command);

/// An option whose value the reader checks.
CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& what);

}  // namespace cufault
