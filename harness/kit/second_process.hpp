// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cufault {

/// Runs a command of this program (`cufault WORDS...`) with a channel of lines to it. It ends with this process, not with the thread that
/// started it.
class second_process {
 public:
  explicit second_process(
      std::vector<std::string> words);  ///< throws not_provoked where it cannot be started
  ~second_process() { end(); }
  second_process(const second_process&) = delete;
  second_process& operator=(const second_process&) = delete;
  /// Its next line without newline; "" at its end.
  std::string hear();
  /// Requests the next line. Returns false if the process has ended.
  bool ask();
  /// Closes the channel and waits for the end. Returns how the process ended, e.g. "exit 0"; nullopt if it had ended before.
  std::string end();

  /// In that process: prints a line and waits for the next request. Returns false if none will come.
  static bool say(const std::string& line);

 private:
  pid_t process_ = -1;
  int talk_ = -1;  // closing it releases the process
};

}  // namespace cufault
