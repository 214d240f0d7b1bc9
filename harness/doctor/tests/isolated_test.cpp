// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/isolated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace cufault {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

[[noreturn]] void hang() {
  for (;;) pause();
}

TEST(isolated, gives_back_what_the_work_returns) {
  const std::string long_text(300'000, 'a');
  const auto said = run_isolated([&] { return long_text; }, 30s);
  EXPECT_TRUE(said.answered) << said.why;
  EXPECT_EQ(said.text, long_text);
}

TEST(isolated, says_what_the_work_throws) {
  const auto said = run_isolated([]() -> std::string { throw std::runtime_error("no such thing"); }, 30s);
  EXPECT_FALSE(said.answered);
  EXPECT_EQ(said.why, "no such thing");
}

TEST(isolated, ends_what_hangs_whatever_it_blocks) {
  const auto said = run_isolated(
      []() -> std::string {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        hang();
      },
      50ms);
  EXPECT_FALSE(said.answered);
  EXPECT_EQ(said.why, "no answer in 50 ms: killed");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "nothing is left";
}

TEST(isolated, ends_what_closes_its_pipe_and_hangs) {
  const auto said = run_isolated(
      []() -> std::string {
        for (int fd = 3; fd < 256; ++fd) close(fd);
        hang();
      },
      50ms);
  EXPECT_EQ(said.why, "no answer in 50 ms: killed");
}

TEST(isolated, says_how_the_work_crashed) {
  EXPECT_EQ(run_isolated(
                []() -> std::string {
                  signal(SIGSEGV, SIG_DFL);  // a sanitizer would end the process with an exit code
                  raise(SIGSEGV);
                  return "alive";
                },
                30s)
                .why,
            "crashed: SIGSEGV");
  EXPECT_EQ(run_isolated([]() -> std::string { _exit(3); }, 30s).why, "exit 3");
  EXPECT_EQ(run_isolated([]() -> std::string { _exit(0); }, 30s).why, "it ended without an answer");
}

TEST(isolated, takes_along_what_the_work_leaves_behind) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto said = run_isolated(
      [&]() -> std::string {
        if (fork() == 0) {
          close(ends[0]);
          for (int fd = 3; fd < 256; ++fd)
            if (fd != ends[1]) close(fd);
          hang();
        }
        return "done";
      },
      30s);
  EXPECT_TRUE(said.answered) << said.why;
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the last that held the other end is gone";
  close(ends[0]);
}

TEST(isolated, shows_nothing_of_what_a_library_prints) {
  testing::internal::CaptureStderr();
  const auto said = run_isolated(
      [] {
        std::fputs("noise\n", stderr);
        return std::string("quiet");
      },
      30s);
  EXPECT_EQ(said.text, "quiet");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace cufault
