// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/output.hpp"
#include "harness/cli/run_arguments.hpp"
#include "reports/judge/comparison.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// How a comparison is printed.
struct comparison_style : print_form {
  bool names = false, in_full = false;  ///< of arms only their names; all that each record saw
};
void add_comparison_style(CLI::App* command, comparison_style& style);

struct gate_arguments : comparison_style {
  std::vector<std::filesystem::path> baseline, candidate;   ///< each of one stack
  std::filesystem::path baseline_python, candidate_python;  ///< in place of records: what `run` runs in
  run_arguments run;
  std::filesystem::path allow;  ///< empty: nothing is allowed
  int at_least = 1;             ///< cases that must have been executed
  std::string date;             ///< empty: today
};

int gate_pythons(const gate_arguments& arguments);
/// `unread`, `incomplete`: as in comparison.
int gate_records(record baseline, record candidate, const gate_arguments& arguments,
                 std::vector<std::string> unread, std::vector<std::string> incomplete);

/// With what each record was asked for, as the catalogue of this cufault has it.
comparison_terms terms_of(std::span<const record> records);
/// Prints a comparison. Returns the exit code of `command`: diff or gate.
int print_compared(const comparison& all, const std::string& command, const comparison_style& style);

/// Says what could not be read, in one line each, and keeps it.
class unread_files {
 public:
  std::function<void(const std::string&)> take();
  std::vector<std::string> lines;
};

}  // namespace cufault
