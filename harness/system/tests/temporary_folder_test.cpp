// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/temporary_folder.hpp"

#include "harness/system/child.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

namespace cufault {
namespace {

namespace fs = std::filesystem;

class temporary : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cufault-folder-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    all = pattern;
    in = all / "temporary";
    fs::create_directory(in);
    std::ofstream(all / "kept") << "kept";
  }
  void TearDown() override {
    EXPECT_TRUE(fs::exists(all / "kept")) << "what a link names is not the folder's";
    remove_folder(all);
    EXPECT_FALSE(fs::exists(all));
  }
  /// How a process ends that does this work with TMPDIR = `in`.
  [[nodiscard]] int end_of(const std::function<void()>& work) const {
    return wait_for(fork_child([&] {
      setenv("TMPDIR", in.c_str(), 1);
      for (const int each : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM}) std::signal(each, SIG_DFL);
      work();
    }));
  }
  void fill(const fs::path& folder) const {
    fs::create_directories(folder / "a" / "b");
    for (int i = 0; i < 200; ++i)  // more than one read returns
      std::ofstream(folder / "a" / ("a file with a rather long name " + std::to_string(i))) << i;
    fs::create_symlink(all / "kept", folder / "a" / "b" / "link");
    fs::create_directory_symlink(all, folder / "a" / "link");
    fs::permissions(folder / "a" / "b", fs::perms::none);
    fs::permissions(folder / "a", fs::perms::owner_read | fs::perms::owner_exec);
  }

  fs::path all, in;
};

TEST_F(temporary, folder_is_removed_with_all_that_is_in_it) {
  const int status = end_of([&] {
    const temporary_folder folder("cufault-test-");
    fill(folder.path());
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(in));
}

TEST_F(temporary, folders_are_removed_where_a_signal_ends_the_process) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM}) {
    const int status = end_of([&] {
      const temporary_folder first("cufault-test-"), second("cufault-test-");
      const signal_cleanup file([&] {
        std::ofstream(in / "file") << "of others";
        return in / "file";
      });
      { const temporary_folder gone("cufault-test-"); }
      fill(first.path());
      fill(second.path());
      raise(signal);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(fs::is_empty(in)) << signal;
  }
}

TEST_F(temporary, folder_is_removed_where_nobody_reads_the_output) {
  const int status = end_of([] {
    const temporary_folder folder("cufault-test-");
    int ends[2];
    if (pipe(ends) != 0) _exit(99);
    close(ends[0]);
    static_cast<void>(!write(ends[1], "a", 1));
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
  EXPECT_TRUE(fs::is_empty(in));
}

TEST_F(temporary, folder_outlives_a_signal_that_is_ignored_or_another_process_s) {
  const int status = end_of([&] {
    std::signal(SIGTERM, SIG_IGN);
    const temporary_folder folder("cufault-test-");
    raise(SIGTERM);
    const int child = wait_for(fork_child([] { raise(SIGHUP); }));
    if (!WIFSIGNALED(child) || WTERMSIG(child) != SIGHUP) _exit(1);
    if (!fs::is_directory(folder.path())) _exit(2);
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(in));
}

TEST_F(temporary, folder_that_somebody_fills_meanwhile_is_still_removed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int status = end_of([&] {
    const temporary_folder folder("cufault-test-");
    const pid_t writer = fork_child([&] {
      for (int i = 0; i < 50; ++i) {  // fewer than the limit of passes
        const std::ofstream out(folder.path() / std::to_string(i));
        if (i == 10) static_cast<void>(!write(ends[1], "a", 1));
      }
    });
    char begun = 0;
    if (read(ends[0], &begun, 1) != 1 || writer < 0) _exit(1);
    raise(SIGTERM);
  });
  close(ends[0]);
  close(ends[1]);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(fs::is_empty(in));
}

}  // namespace
}  // namespace cufault
