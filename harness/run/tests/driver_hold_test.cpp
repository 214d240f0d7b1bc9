// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/driver_hold.hpp"

#include "harness/run/lanes.hpp"
#include "harness/system/children.hpp"
#include "harness/system/unique_fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}
const std::string answers = "read line && echo held >&0 && read line";

TEST(driver_hold, holds_as_long_as_it_lives) {
  const std::set<pid_t> before = children_of_this_process();
  {
    const driver_hold held(shell(answers), -1);
    EXPECT_TRUE(held.holds());
    EXPECT_EQ(children_of_this_process().size(), before.size() + 1);
  }
  EXPECT_EQ(children_of_this_process(), before);
}

TEST(driver_hold, goes_without_where_the_driver_refuses_or_there_is_no_such_program) {
  const std::set<pid_t> before = children_of_this_process();
  EXPECT_FALSE(driver_hold(shell("exit 2"), -1).holds());
  EXPECT_FALSE(driver_hold({"/nonexistent/cufault"}, -1).holds());
  EXPECT_EQ(children_of_this_process(), before);
}

TEST(driver_hold, goes_without_a_driver_that_does_not_answer) {
  const std::set<pid_t> before = children_of_this_process();
  EXPECT_FALSE(driver_hold(shell("sleep 60"), -1, std::chrono::milliseconds(100)).holds());
  EXPECT_EQ(children_of_this_process(), before);
}

TEST(driver_hold, is_given_up_with_the_run) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const unique_fd stop(ends[0]), tell(ends[1]);
  ASSERT_EQ(write(tell.get(), "x", 1), 1);
  const std::set<pid_t> before = children_of_this_process();
  EXPECT_FALSE(driver_hold(shell("sleep 600"), stop.get(), std::chrono::minutes(10)).holds());
  EXPECT_EQ(children_of_this_process(), before);
}

TEST(driver_hold, outlives_a_lane_that_dies) {
  const std::set<pid_t> others = children_of_this_process();
  const driver_hold held(shell(answers), -1);
  const std::set<pid_t> before = children_of_this_process();
  ASSERT_EQ(before.size(), others.size() + 1);
  lanes one(1, [](const std::string&, int) -> std::string {
    raise(SIGKILL);
    return {};
  });
  one.ask(0, "die");
  EXPECT_EQ(one.next(-1)->died, "died of SIGKILL");
  const std::set<pid_t> now = children_of_this_process();
  for (const pid_t child : before) EXPECT_TRUE(now.contains(child));
}

}  // namespace
}  // namespace cufault
