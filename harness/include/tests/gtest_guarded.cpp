// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// As a user's program with GoogleTest; context_guard_test.cpp runs it.
#include "harness/include/tests/guarded.hpp"

#include <cufault/gtest_guard.hpp>

namespace {
const bool guarded = cufault::guard_gtest(*std::getenv("GUARD") == 'e' ? cufault::guard_when::each
                                                                       : cufault::guard_when::failures);

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
}
}  // namespace
