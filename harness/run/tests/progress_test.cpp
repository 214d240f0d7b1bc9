// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cufault {
namespace {

/// Text written to a file in memory.
class written {
 public:
  written() : file_(open_memstream(&text_, &size_)) {}
  ~written() {
    std::fclose(file_);
    std::free(text_);
  }
  written(const written&) = delete;
  written& operator=(const written&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

TEST(progress, counts_what_is_over_and_names_what_runs_longest) {
  written to;
  progress shown(to.file(), false, 20, 20);
  const auto start = std::chrono::steady_clock::now();
  shown.began("a.b/c");
  shown.began("d.e/f");
  shown.began("g.h/i");
  shown.ended("d.e/f", 5, true);
  const std::string text = shown.text(start + std::chrono::seconds(10), 200);
  EXPECT_EQ(text, "[ 1/20] 1 unexpected; 2 running: a.b/c 10 s; about 30 s left");
  EXPECT_EQ(shown.text(start + std::chrono::seconds(10), 40).size(), 40U);
}

TEST(progress, writes_lines_alone_where_there_is_no_terminal) {
  written to;
  progress shown(to.file(), false, 2, 2);
  shown.began("a.b/c");
  shown.line("a line");
  shown.ended("a.b/c", 1, false);
  EXPECT_EQ(to.text(), "a line\n");
}

TEST(progress, leaves_only_lines_on_a_terminal) {
  written to;
  {
    progress shown(to.file(), true, 2, 2);
    shown.began("a.b/c");
    shown.line("a line");
  }
  const std::string text = to.text(), wiped = "\r\x1b[2K";
  EXPECT_THAT(text, testing::HasSubstr(wiped + "a line\n"));
  EXPECT_TRUE(text.ends_with(wiped));
}

TEST(rounded_time, is_short) {
  EXPECT_EQ(rounded_time(0.4), "0 s");
  EXPECT_EQ(rounded_time(99), "99 s");
  EXPECT_EQ(rounded_time(130), "2 min");
  EXPECT_EQ(rounded_time(7200), "2 h");
}

}  // namespace
}  // namespace cufault
