// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/second_process.hpp"

#include "harness/model/errors.hpp"
#include "harness/system/child.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace cufault {

second_process::second_process(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  talk_ = ends[0];
  words.insert(words.begin(), "cufault");
  words.insert(words.end(), {"--parent", std::to_string(getpid())});
  try {
    process_ = start_self(words, {{STDIN_FILENO, ends[1]}, {STDOUT_FILENO, ends[1]}});
  } catch (const std::system_error& error) {
    close(ends[1]);
    end();
    throw not_provoked(fmt::format("the other process could not be started: {}", error.what()));
  }
  close(ends[1]);
}

std::string second_process::hear() {
  std::string line;
  for (char c = 0;;) {
    const ssize_t n = read(talk_, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') return line;
    line += c;
  }
}

bool second_process::ask() {
  const char again = '\n';
  return send(talk_, &again, 1, MSG_NOSIGNAL) == 1;
}

std::string second_process::end() {
  if (const int talk = std::exchange(talk_, -1); talk >= 0) close(talk);
  const pid_t process = std::exchange(process_, -1);
  return process > 0 ? ending_of(wait_for(process)) : std::string();
}

bool second_process::say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  char ignored = 0;
  ssize_t asked = 0;
  do asked = read(STDIN_FILENO, &ignored, 1);
  while (asked < 0 && errno == EINTR);
  return asked > 0;
}

}  // namespace cufault
