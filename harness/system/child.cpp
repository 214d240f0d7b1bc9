// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/child.hpp"

#include "harness/system/process.hpp"

#include <fmt/format.h>

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace cufault {

pid_t fork_child(const std::function<void()>& work) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(125);  // it ended before PR_SET_PDEATHSIG took effect
  work();
  _exit(0);
}

namespace {

constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP};
volatile pid_t gets_signals = 0;

void pass_on(int signal) {
  const int before = errno;
  kill(gets_signals, signal);
  errno = before;
}

}  // namespace

std::optional<int> go_on_in_child() {
  std::fflush(nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, there is no exit code of a child
  sigset_t held;
  sigset_t before;
  sigemptyset(&held);
  for (const int signal : passed_on) sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, &before);
  const pid_t parent = getpid();
  const pid_t child = fork();
  const int refused = errno;
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);  // even if this process ignored it
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(125);  // it ended before PR_SET_PDEATHSIG took effect
  }
  gets_signals = child;
  for (const int signal : passed_on)
    if (child > 0 && std::signal(signal, pass_on) == SIG_IGN) std::signal(signal, SIG_IGN);  // as for nohup
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::system_error(refused, std::generic_category(), "cannot fork");
  if (child == 0) return {};
  const int status = wait_for(child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) return 128 + SIGPIPE;  // nobody reads
  if (WIFSIGNALED(status))
    throw std::runtime_error("a process of cufault's own was ended by " + signal_name(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start_self(const std::vector<std::string>& words, const std::map<int, int>& descriptors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Needed also for equal numbers: it clears close-on-exec in the child.
  for (const auto& [theirs, ours] : descriptors) posix_spawn_file_actions_adddup2(&actions, ours, theirs);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw std::system_error(failed, std::generic_category(), "cannot start this program again");
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) return "crashed: " + signal_name(WTERMSIG(status));
  return fmt::format("exit {}", WEXITSTATUS(status));
}

}  // namespace cufault
