// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands that Python programs answer: NAME.py in reports/answers, installed in share/cufault/answers.
#pragma once

#include "harness/cli/command_line.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace cufault {

/// A command that reads records alone, with --json and --markdown, answered by NAME.py. It gets one argument of JSON, the options that were given,
/// by their long names, and where files of cufault lie, and then the records (reports/answers/asked.py). Further options may be added.
CLI::App* add_answer(command_line& line, const char* name, const char* what, const std::string& codes,
                     const char* schema);
/// The same, with the options that are added to it and no other.
CLI::App* add_bare_answer(command_line& line, const char* name, const char* what, const std::string& codes);
/// An option whose value the program checks.
CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& what);

CLI::Option* add_passed_flag(CLI::App* command, const std::string& name, const std::string& what);

/// A command that is NAME.py, or PROGRAM.py where a module of Python has that name: it gets all that stands behind NAME, and its help is its own.
void add_python_command(command_line& line, const char* name, const char* what,
                        const char* program = nullptr);

}  // namespace cufault
