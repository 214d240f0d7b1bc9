// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// As a user's program with GoogleTest; context_guard_test.cpp runs it.
#include "harness/include/tests/guarded.hpp"

#include <cufault/gtest_guard.hpp>

namespace {
const std::string guard = std::getenv("GUARD");
const bool guarded = cufault::guard_gtest(
    guard == "at_failures" ? cufault::guard_when::failures : cufault::guard_when::each,
    guard == "only_told" ? cufault::guard_rest::not_run : cufault::guard_rest::fresh_process);

TEST(first, is_alive) {
  EXPECT_EQ(guarded_test::look(), 0);
}
TEST(second, does_as_it_is_told) {
  guarded_test::as_told();
  EXPECT_EQ(guarded_test::fails(), false);
}
struct third : testing::Test {
  void SetUp() override { EXPECT_EQ(guarded_test::look(), 0); }
};
TEST_F(third, is_alive) {
  EXPECT_EQ(guarded_test::look(), 0);
  if (guarded_test::told("again")) guarded_test::as_told();
  EXPECT_FALSE(guarded_test::told("fail again"));
}
}  // namespace

int main(int argc, char** argv) {
  int one = 1;
  testing::InitGoogleTest(guarded_test::told("arguments") ? &one : &argc, argv);
  return RUN_ALL_TESTS();
}
