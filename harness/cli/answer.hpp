// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands whose options are read here, and which a Python program of reports/answers answers, most of them from the table.
#pragma once

#include "harness/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace cufault {

/// Becomes reports/answers/READER.py. It gets the options that were given or have a default, by their long names, and positionals; of a `line`
/// also all that was said, and the words behind --. Returns only if it cannot be started: throws usage_error, for lack of a Python, say.
[[noreturn]] int answer(const std::string& reader, const CLI::App& command,
                        const command_line* line = nullptr);

/// CUFAULT_PYTHON, which is tried, or python3 of PATH. Throws usage_error where there is none.
std::string interpreter();

/// What a reader prints with these options and names, as JSON, where a command of C++ needs it. Throws usage_error: no Python, or what the reader says.
nlohmann::json answered(const std::string& reader, const nlohmann::json& options,
                        const std::vector<std::string>& names);

/// An option for the reader, which gets a number of an int or a double, and a list of a std::vector.
template <class Value = std::string>
CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& what) {
  return command
      ->add_option_function<Value>(
          names, [](const Value&) {}, what)
      ->allow_extra_args(false)
      ->check(not_empty);
}

/// One whose value the help calls `type`.
template <class Value = std::string>
CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& type,
                           const std::string& what) {
  return add_passed_on<Value>(command, names, what)->type_name(type);
}

CLI::Option* add_passed_flag(CLI::App* command, const std::string& name, const std::string& what);
/// --records of a command that takes words.
void add_passed_records(CLI::App* command);
/// --json and --markdown.
void add_passed_form(CLI::App* command, const char* schema);

/// A command that reads records alone, with --json and --markdown, and the options that are added to it; NAME.py answers.
CLI::App* add_answer(command_line& line, const char* name, const char* what, const std::string& codes,
                     const char* schema);
/// The same without --json and --markdown.
CLI::App* add_bare_answer(command_line& line, const char* name, const char* what, const std::string& codes);

}  // namespace cufault
