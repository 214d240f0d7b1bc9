// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/mps_keeper.hpp"

#include "harness/system/children.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace cufault {
namespace {

constexpr int look_for_end_ms = 50;

/// What it printed goes to a file: the daemon may keep a pipe open. Empty where it started, else why not.
std::string start_daemon() {
  const int status =
      std::system("nvidia-cuda-mps-control -d >\"$CUDA_MPS_LOG_DIRECTORY/said\" 2>&1 </dev/null");
  if (status == 0) return {};
  std::ostringstream text;
  text << std::ifstream(std::getenv("CUDA_MPS_LOG_DIRECTORY") + std::string("/said")).rdbuf();
  std::string words = text.str();
  for (char& c : words)
    if (c == '\n') c = ' ';
  return fmt::format("nvidia-cuda-mps-control -d: exit code {}: {}",
                     WIFEXITED(status) ? WEXITSTATUS(status) : -1, words);
}

/// Without waiting for clients for longer than a second; and whatever is left.
void end_daemon() {
  static_cast<void>(std::system("echo quit -t 1 | timeout -k 1 10 nvidia-cuda-mps-control >/dev/null 2>&1"));
  for (auto left = children_of_this_process(); !left.empty(); left = children_of_this_process())
    for (const pid_t each : left) {
      kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
}

/// Reaps what has ended. False where nothing is left.
bool daemon_lives() {
  pid_t ended = 0;
  do ended = waitpid(-1, nullptr, WNOHANG);
  while (ended > 0);
  return ended == 0;
}

/// A line on standard input, or its end: then false.
bool heard() {
  std::array<char, 64> line{};
  ssize_t n = 0;
  do n = read(STDIN_FILENO, line.data(), line.size());
  while (n < 0 && errno == EINTR);
  return n > 0;
}

void answer(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  static_cast<void>(send(STDIN_FILENO, text.data(), text.size(), MSG_NOSIGNAL));
}

}  // namespace

int keep_mps_daemon() {
  struct stat input {};
  if (std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr || std::getenv("CUDA_MPS_LOG_DIRECTORY") == nullptr ||
      fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode)) {
    std::fputs(
        "keep-mps is started by cufault run, with CUDA_MPS_PIPE_DIRECTORY, CUDA_MPS_LOG_DIRECTORY and a "
        "socket as standard input: run cufault run\n",
        stderr);
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // the daemon leaves its parent, and is then a child of this process
  if (!heard()) return 0;
  if (const std::string wrong = start_daemon(); !wrong.empty()) {
    answer(wrong);
    heard();  // whoever asked takes an end for no answer
    return 1;
  }
  answer("started");
  while (true) {
    pollfd asked{STDIN_FILENO, POLLIN, 0};
    if (poll(&asked, 1, look_for_end_ms) <= 0) {
      if (!daemon_lives() && !start_daemon().empty()) return 1;
      continue;
    }
    const bool by_word = heard();
    end_daemon();
    if (by_word) answer("ended");
    return 0;
  }
}

}  // namespace cufault
