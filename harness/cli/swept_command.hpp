// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/program_sweep_outcome.hpp"
#include "harness/system/process.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cufault::program_sweep {

/// The last line that is not empty, for people.
std::string last_words(const std::string& text);
/// How it ended: "exit 3", "SIGSEGV", "its timeout".
std::string ended(const process_result& p);

/// How the command is run. `scratch` is a folder that nothing else uses meanwhile; `stop` becomes readable when the sweep is to end,
/// and then interrupted is thrown.
class command_runs {
 public:
  std::vector<std::string> argv;
  std::string preload;

  [[nodiscard]] run_seen run(const std::string& rules, const std::string& fail,
                             std::chrono::milliseconds timeout, const std::filesystem::path& scratch,
                             int stop) const;
  /// The same by a child of a process of the command that waits at its first call. Nullopt if there can be none: why_anew() says why.
  std::optional<run_seen> run_forked(const std::string& rules, const std::string& fail,
                                     std::chrono::milliseconds timeout, const std::filesystem::path& scratch,
                                     int stop);
  [[nodiscard]] const std::string& why_anew() const { return why_anew_; }
  void end_forks() { forks_.reset(); }

 private:
  [[nodiscard]] spawn_options options(const std::string& rules, const std::string& fail,
                                      std::chrono::milliseconds timeout,
                                      const std::filesystem::path& log) const;
  std::unique_ptr<forking_process> forks_;
  std::string why_anew_;
};

/// Where a call was made, the innermost first: "step at train.cpp:17", "c10::alloc in libc10.so", "libx.so+0x12". Lines are there for
/// files with debug information if the machine has addr2line.
std::vector<std::string> places_of(const std::vector<logged_frame>& frames, int stop);
/// The innermost frame of the user's files in a traceback: "train.py:17 in step"; "" without one.
std::string python_place_of(const std::string& traceback);

/// Memory that `work` takes, of the machine and of each GPU, and what is free. Only what can be measured here.
std::vector<memory_use> memory_taken_by(const std::function<void()>& work);

}  // namespace cufault::program_sweep
