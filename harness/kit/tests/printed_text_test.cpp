// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/printed_text.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace cufault {
namespace {

TEST(kept_output, is_what_was_printed_since_the_last_time) {
  kept_output kept(STDOUT_FILENO);
  std::printf("one");
  EXPECT_EQ(kept.take(), "one");
  const std::string much(10'000, 'x');
  std::printf("%s", much.c_str());
  EXPECT_EQ(kept.take(), much);
  EXPECT_EQ(kept.take(), "");
}

TEST(kept_output, has_what_a_forked_process_prints) {
  kept_output kept(STDERR_FILENO);
  const pid_t child = fork();
  if (child == 0) {
    std::fputs("from the child", stderr);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(kept.take(), "from the child");
}

TEST(kept_output, gives_the_descriptor_back) {
  testing::internal::CaptureStdout();
  {
    const kept_output kept(STDOUT_FILENO);
    std::printf("kept");
  }
  std::printf("not kept");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "not kept");
}

TEST(printed_by, tells_both_streams_apart_and_prints_them_again) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const printed_text printed = printed_by([] {
    std::printf("result");
    std::fputs("warning", stderr);
  });
  EXPECT_EQ(printed.out, "result");
  EXPECT_EQ(printed.err, "warning");
  EXPECT_FALSE(printed.empty());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "result");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning");
}

TEST(printed_by, is_empty_where_nothing_is_printed) {
  EXPECT_TRUE(printed_by([] {}).empty());
}

}  // namespace
}  // namespace cufault
