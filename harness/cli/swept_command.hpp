// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/program_sweep_outcome.hpp"
#include "harness/system/process.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cufault::program_sweep {

/// The last line that is not empty, for people.
std::string last_words(const std::string& text);
/// How it ended: "exit 3", "SIGSEGV", "its timeout".
std::string ended(const process_result& p);

/// How the command is run. `scratch` is a folder that nothing else uses meanwhile; `stop` becomes readable when the sweep is to end,
/// and then interrupted is thrown.
struct command_runs {
  std::vector<std::string> argv;
  std::string preload, ok;

  [[nodiscard]] run_seen run(const std::string& rules, const std::string& fail,
                             std::chrono::milliseconds timeout, const std::filesystem::path& scratch,
                             int stop) const;
  /// What the user's oracle says of a run. Throws usage_error where it says nothing.
  [[nodiscard]] bool accepts(const process_result& process, std::string_view outcome, const std::string& fail,
                             const std::filesystem::path& scratch, int stop) const;
};

}  // namespace cufault::program_sweep
