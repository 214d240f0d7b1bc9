// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Runs that are interrupted or killed.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A cufault that hangs in a trial, started by hand so that it can be killed.
class end_to_end_cut_short : public end_to_end {
 protected:
  void start() {
    setenv("ROAD_FAULT", "hang", 1);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    // Who is killed leaves its trial's folder: not where the floor would find it.
    const char* usual = getenv("TMPDIR");
    const std::string before = usual != nullptr ? usual : "";
    setenv("TMPDIR", (folder / "temporary").c_str(), 1);
    std::vector<std::string> words{TEST_PROGRAM,  "run",
                                   "road.create", "--jobs",
                                   "1",           "-v",
                                   "--records",   (folder / "records").string(),
                                   "--baseline",  (folder / "baseline").string(),
                                   "--cublas",    (fs::path(FAKE_CUBLAS_DIR) / "a").string()};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    // A shell ignores SIGINT for what it starts in the background, and cufault leaves it so.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    posix_spawnattr_setsigdefault(&attributes, &interrupt);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    ASSERT_EQ(posix_spawn(&pid, TEST_PROGRAM, &actions, &attributes, argv.data(), environ), 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    unsetenv("ROAD_FAULT");
    usual != nullptr ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
    std::string said;
    for (char c = 0; said.find("/fault begins") == std::string::npos && read(ends[0], &c, 1) == 1;) said += c;
    ASSERT_THAT(said, HasSubstr("control NEW"));
    stderr_end = ends[0];
  }
  int finish() {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    // Every descendant holds the other end of this pipe or is gone: read until it is closed by the last one.
    std::array<char, 256> rest{};
    while (read(stderr_end, rest.data(), rest.size()) > 0) {
    }
    close(stderr_end);
    return status;
  }
  pid_t pid = -1;
  int stderr_end = -1;
};

TEST_F(end_to_end_cut_short, by_ctrl_c_writes_what_it_has_and_exits_130) {
  start();
  ASSERT_EQ(kill(pid, SIGINT), 0);
  const int status = finish();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  ASSERT_EQ(files(".jsonl").size(), 1U);
  const record r = load_record(files(".jsonl")[0]);
  EXPECT_FALSE(r.complete);
  std::set<std::string> names;
  for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
  EXPECT_THAT(names, ElementsAre("control", "dead_end", "remedy"));
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
}

TEST_F(end_to_end_cut_short, by_sigkill_leaves_a_record_that_can_be_read) {
  start();
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  finish();
  ASSERT_EQ(files(".jsonl").size(), 1U);
  EXPECT_FALSE(load_record(files(".jsonl")[0]).complete);
  const auto shown = cufault({"show", files(".jsonl")[0].string()});
  EXPECT_EQ(shown.exit_code, 0) << shown.stderr_text;
  EXPECT_THAT(shown.stdout_text, HasSubstr("control"));
  EXPECT_TRUE(fs::is_empty(folder / "temporary")) << "its lanes have tidied up";
}

}  // namespace
}  // namespace cufault
