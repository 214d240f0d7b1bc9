// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/isolated.hpp"

#include "harness/system/child.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/files.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace cufault {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t most_text = 16 << 20;
constexpr std::chrono::seconds time_to_die{2};

/// In the child.
void answer(const std::function<std::string()>& work, int to) {
  setpgid(0, 0);
  const unique_fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nowhere)
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere.get(), fd);
  std::string said;
  try {
    said = "+" + work();
  } catch (const std::exception& e) {
    said = std::string("-") + e.what();
  }
  write_all(to, said);
  _exit(0);  // without what libraries registered to run at exit
}

int milliseconds_until(clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 20));
}

/// Reads to the end; false where that did not come in time.
bool read_all(int from, std::string& text, clock::time_point deadline) {
  std::array<char, 16384> piece{};
  for (;;) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    const int left = milliseconds_until(deadline);
    const int polled = poll(&ready, 1, left);
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0) return false;
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() >= most_text) return true;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

/// Its status; -1 where it does not end, stuck in the kernel.
int reap(pid_t child, clock::time_point deadline) {
  for (;;) {
    siginfo_t seen{};
    const int asked = waitid(P_PID, static_cast<id_t>(child), &seen, WEXITED | WNOHANG | WNOWAIT);
    if (asked == 0 && seen.si_pid == child) {
      kill(-child, SIGKILL);  // while its number is still its own: what it left behind
      return wait_for(child);
    }
    if ((asked < 0 && errno != EINTR) || clock::now() >= deadline) return -1;
    poll(nullptr, 0, 1);
  }
}

}  // namespace

isolated_answer run_isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit) {
  const auto start = clock::now();
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const unique_fd from(ends[0]);
  unique_fd to(ends[1]);
  const pid_t child = fork_child([&] { answer(work, ends[1]); });
  setpgid(child, child);  // here too: whichever comes first
  to.reset();
  std::string text;
  const bool ended = read_all(from.get(), text, start + limit);
  int status = ended ? reap(child, start + limit) : -1;
  const bool killed = status == -1;
  if (killed) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    status = reap(child, clock::now() + time_to_die);
  }
  isolated_answer seen;
  seen.milliseconds = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  if (killed)
    seen.why =
        fmt::format("no answer in {} ms: {}", limit.count(), status == -1 ? "it cannot be killed" : "killed");
  else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    seen.why = ending_of(status);
  else if (text.empty() || (text.front() != '+' && text.front() != '-'))
    seen.why = "it ended without an answer";
  else if (text.front() == '-')
    seen.why = text.substr(1);
  else {
    seen.answered = true;
    seen.text = text.substr(1);
  }
  return seen;
}

}  // namespace cufault
