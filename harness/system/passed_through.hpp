// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace cufault {

inline constexpr int exit_not_executable = 126, exit_not_found = 127;  ///< as a shell's

struct not_started : std::system_error {
  using std::system_error::system_error;
};

/// A command that runs as if it had been started by the caller's shell, but that this process sees the end of its output.
struct passed_command {
  std::vector<std::string> words;                  ///< never empty
  std::map<std::string, std::string> environment;  ///< set in it
  std::optional<std::chrono::milliseconds> after;  ///< then on_question is called once
  std::function<void()> on_second;                 ///< about each second
  std::function<void(bool asked)> on_question;     ///< asked: by SIGQUIT; else `after` is over
  bool left_alone = false;  ///< standard error, whatever it is, and SIGQUIT are its own
};

struct passed_end {
  int exit_code = 0;
  int signal = 0;  ///< that ended it; 0: none
  pid_t pid = 0;   ///< that it had
  double seconds = 0;
  std::string
      last_output;  ///< of what could be seen, the last 64 KiB: standard error, and standard output where said
  [[nodiscard]] int as_of_a_shell() const { return signal != 0 ? 128 + signal : exit_code; }
};

/// Runs it to its end. Standard input is its own. Standard error is left alone where it is a regular file, of which the end is read
/// afterwards, or no pipe and no terminal; a terminal becomes a pseudo-terminal, which passes bytes on as they are, and a pipe another pipe.
/// Standard output shares that where it is the same file as standard error, so that their order stays; else it is left alone, and its end
/// is read where it is a regular file. The command ignores SIGQUIT, and ends with this process. SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and a SIGINT that no terminal sent are
/// passed on. Processes that it leaves behind keep their standard error: a child of this process then goes on copying. Throws
/// not_started where it cannot be run.
passed_end run_passed_through(const passed_command& command);

}  // namespace cufault
