// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/lanes.hpp"

#include "harness/run/runner.hpp"
#include "harness/system/children.hpp"
#include "harness/system/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>

namespace cufault {
namespace {

namespace fs = std::filesystem;

std::string repeat_it(const std::string& request, int) {
  if (request == "kill") raise(SIGKILL);
  if (request == "exit") _exit(3);
  if (request == "throw") throw std::runtime_error("as the test asks");
  if (request == "pid") return std::to_string(getpid());
  if (request == "long") return std::string(3'000'000, 'x');
  return request + " and back";
}

TEST(lanes, answer_side_by_side) {
  lanes four(4, repeat_it);
  for (std::size_t i = 0; i < 4; ++i) four.ask(i, "pid");
  EXPECT_FALSE(four.idle());
  std::set<std::string> pids;
  while (four.busy()) pids.insert(four.next(-1)->text);
  EXPECT_EQ(pids.size(), 4U);
  EXPECT_TRUE(four.idle());
}

TEST(lanes, carry_long_answers) {
  lanes one(1, repeat_it);
  one.ask(0, "long");
  EXPECT_EQ(one.next(-1)->text.size(), 3'000'000U);
}

TEST(lanes, that_die_say_how_and_are_replaced) {
  lanes two(2, repeat_it);
  for (const auto& [request, ending] :
       {std::pair{"kill", "died of SIGKILL"}, std::pair{"exit", "exited with 3"},
        std::pair{"throw", "exited with 1"}}) {
    two.ask(1, request);
    two.ask(0, "other");
    std::set<std::string> seen;
    while (two.busy()) {
      const auto answer = *two.next(-1);
      seen.insert(answer.lane == 1 ? answer.died : answer.text);
    }
    EXPECT_EQ(seen, (std::set<std::string>{ending, "other and back"}));
    two.ask(1, "again");
    EXPECT_EQ(two.next(-1)->text, "again and back");
  }
}

TEST(lanes, may_answer_when_they_are_told_to_stop) {
  lanes two(2, [](const std::string& request, int stop) {
    pollfd told{stop, POLLIN, 0};
    return request + (poll(&told, 1, request == "busy" ? -1 : 0) == 1 ? " was stopped" : " went on");
  });
  two.ask(0, "busy");
  two.stop();
  EXPECT_EQ(two.next(-1)->text, "busy was stopped");
  two.ask(1, "idle");
  EXPECT_EQ(two.next(-1)->text, "idle went on");
}

// A lane whose trial reports its start on a pipe, and never ends.
class lanes_with_a_hanging_trial : public testing::Test {
 protected:
  lanes_with_a_hanging_trial() {
    EXPECT_EQ(pipe(ends.data()), 0);  // NOLINT: the lanes are to inherit it
    const std::string pattern = (fs::temp_directory_path() / "cufault-lanes-XXXXXX").string();
    folder = pattern;
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~lanes_with_a_hanging_trial() override {
    unsetenv("TMPDIR");
    fs::remove_all(folder);
    close(ends[0]);
    close(ends[1]);
  }
  static std::string hang(const std::string&, int stop) {
    const failure_case c{};
    arm a;
    a.needs = need::host;
    runner_options options;
    options.stop = stop;
    options.command = [](const auto&...) {
      return std::vector<std::string>{RUNNER_HOST, "tied", std::to_string(getpid())};
    };
    run_arm(c, a, options);
    return "ended";
  }
  /// Waits for the folder of the lane's trial, which is made before its start.
  void wait_for_the_trial() const {
    while (fs::is_empty(folder)) usleep(1000);
  }
  std::array<int, 2> ends{};
  std::string folder;
};

TEST_F(lanes_with_a_hanging_trial, end_it_and_leave_no_folder) {
  const auto before = children_of_this_process();
  {
    lanes two(2, hang);
    two.ask(0, "");
    two.ask(1, "");
    wait_for_the_trial();
  }
  EXPECT_EQ(children_of_this_process(), before);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(lanes_with_a_hanging_trial, stop_waiting_when_told) {
  lanes one(1, hang);
  one.ask(0, "");
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_FALSE(one.next(ends[0]));
  one.end();
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(lanes_with_a_hanging_trial, leave_nothing_when_one_is_killed) {
  lanes one(1, [](const std::string& request, int stop) {
    return request == "pid" ? std::to_string(getpid()) : hang(request, stop);
  });
  one.ask(0, "pid");
  const pid_t lane = std::stoi(one.next(-1)->text);
  one.ask(0, "hang");
  wait_for_the_trial();
  ASSERT_EQ(kill(lane, SIGKILL), 0);
  EXPECT_EQ(one.next(-1)->died, "died of SIGKILL");
  EXPECT_TRUE(fs::is_empty(folder));
  one.ask(0, "pid");
  EXPECT_NE(one.next(-1)->text, std::to_string(lane));
}

}  // namespace
}  // namespace cufault
