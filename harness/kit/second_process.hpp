// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cufault {

/// This program, started again by one of its own commands (`cufault WORDS...`), with a channel of lines to it. It ends with this process, not with
/// the thread that started it.
class second_process {
 public:
  explicit second_process(
      std::vector<std::string> words);  ///< throws not_provoked where it cannot be started
  ~second_process() { end(); }
  second_process(const second_process&) = delete;
  second_process& operator=(const second_process&) = delete;
  /// Its next line, without its end; empty where it says nothing more.
  std::string hear();
  /// Asks it for the next line. False where it has ended.
  bool ask();
  /// Closes the channel, and returns when the process has ended: how, as "exit 0"; nothing where it had ended before.
  std::string end();

  /// For the process: prints a line, and waits until the next is asked for. False where there is none to come.
  static bool say(const std::string& line);

 private:
  pid_t process_ = -1;
  int talk_ = -1;  // closing it lets the process go
};

}  // namespace cufault
