// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/child.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace cufault {
namespace {

/// A process that goes on in a child, which does this work. It was started by one that ignores SIGCHLD.
pid_t going_on(const std::function<void()>& work, sighandler_t sigterm = SIG_DFL) {
  std::fflush(nullptr);
  return fork_child([&] {
    std::signal(SIGCHLD, SIG_IGN);
    std::signal(SIGTERM, sigterm);
    try {
      if (const auto ended = go_on_in_child()) _exit(*ended);
    } catch (const std::runtime_error& error) {
      _exit(error.what() == std::string("a process of cufault's own was ended by SIGKILL") ? 55 : 56);
    }
    work();
    _exit(99);
  });
}

/// Sends a signal to its parent, and waits until one comes.
void send_and_wait(int sent, int awaited) {
  sigset_t those;
  sigemptyset(&those);
  sigaddset(&those, awaited);
  sigprocmask(SIG_BLOCK, &those, nullptr);
  kill(getppid(), sent);
  int came = 0;
  sigwait(&those, &came);
}

TEST(child, in_which_a_process_goes_on_ends_it_likewise) {
  EXPECT_EQ(WEXITSTATUS(wait_for(going_on([] { _exit(7); }))), 7);
  EXPECT_EQ(WEXITSTATUS(wait_for(going_on([] { raise(SIGKILL); }))), 55);
}

TEST(child, in_which_a_process_goes_on_gets_its_signals) {
  EXPECT_EQ(WEXITSTATUS(wait_for(going_on([] {
              send_and_wait(SIGTERM, SIGTERM);
              _exit(7);
            }))),
            7);
}

TEST(child, in_which_a_process_goes_on_outlives_it_to_clean_up) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int status = wait_for(going_on(
      [&] {
        send_and_wait(SIGKILL, SIGTERM);
        static_cast<void>(!write(ends[1], "a", 1));
      },
      SIG_IGN));
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  close(ends[1]);
  char cleaned = 0;
  EXPECT_EQ(read(ends[0], &cleaned, 1), 1);
  close(ends[0]);
}

}  // namespace
}  // namespace cufault
