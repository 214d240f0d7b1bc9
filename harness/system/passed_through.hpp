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

/// A command that runs as if the caller's shell had started it, while this process sees the end of its output.
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

/// Runs the command to its end. Standard input stays. Standard error: a regular file stays, and its end is read afterwards; a terminal
/// becomes a pseudo-terminal and a pipe another pipe, both copied; anything else stays. Standard output shares that if both are the same
/// file, so that their order is kept. Else it stays, and the end of a regular file is read. The command ignores SIGQUIT and ends with this
/// process. SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and a SIGINT not from a terminal are forwarded. If processes remain that hold standard error,
/// a child goes on copying. Throws not_started if the command cannot run.
passed_end run_passed_through(const passed_command& command);

}  // namespace cufault
