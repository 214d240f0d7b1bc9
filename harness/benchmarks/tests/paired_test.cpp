// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/benchmarks/paired.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

median_estimate between(double low, double high, double coverage = 0.96) {
  return {(low + high) / 2, low, high, coverage};
}

double rate(double with, double bare) {
  return bare / with;
}

TEST(median_of_turns, compares_within_a_turn) {
  // The machine slows down fourfold: the median times are 2.02 and 2, and one turn has a disturbance.
  const std::vector<double> bare{1, 1, 2, 4, 4}, with{1.01, 1.01, 2.02, 4.04, 9};
  EXPECT_DOUBLE_EQ(median_of_turns(with, bare, rate), 1 / 1.01);
  EXPECT_NEAR(median_of_turns(with, bare, [](double a, double b) { return a - b; }), 0.02, 1e-12);
  EXPECT_DOUBLE_EQ(median_of_turns(bare, bare, rate), 1);
}

TEST(bar, is_met_or_missed_by_a_whole_interval) {
  EXPECT_EQ(verdict_of(between(0.5, 3), 0, 20), bar_verdict::within);
  EXPECT_EQ(verdict_of(between(0.5, 21), 0, 20), bar_verdict::not_shown);
  EXPECT_EQ(verdict_of(between(21, 30), 0, 20), bar_verdict::beyond);
  EXPECT_EQ(verdict_of(between(-3, -1), 0, 20), bar_verdict::beyond);
  EXPECT_EQ(verdict_of(between(-1, 3), 0, 20), bar_verdict::not_shown);
}

TEST(bar, is_not_shown_by_few_rounds) {
  EXPECT_EQ(verdict_of(between(0.5, 3, 0.94), 0, 20), bar_verdict::not_shown);
  EXPECT_EQ(verdict_of(median_of({1, 2, 1, 2, 1}), 0, 20), bar_verdict::not_shown) << "five rounds";
  EXPECT_EQ(verdict_of(median_of({1, 2, 1, 2, 1, 2}), 0, 20), bar_verdict::within) << "six";
}

TEST(bar_of_a_rate, is_shown_only_where_two_that_are_alike_differ_by_less) {
  const auto control = between(0.998, 1.003);
  EXPECT_EQ(verdict_of_rate(between(0.991, 0.999), control, 0.99), bar_verdict::within);
  EXPECT_EQ(verdict_of_rate(between(0.991, 1.02), control, 0.99), bar_verdict::within) << "faster is no cost";
  EXPECT_EQ(verdict_of_rate(between(0.985, 0.995), control, 0.99), bar_verdict::not_shown);
  EXPECT_EQ(verdict_of_rate(between(0.97, 0.98), control, 0.99), bar_verdict::beyond);
  for (const auto& noise : {between(0.98, 1.01), between(0.995, 1.02), between(1.015, 1.025)}) {
    EXPECT_EQ(verdict_of_rate(between(0.991, 0.999), noise, 0.99), bar_verdict::not_shown);
    EXPECT_EQ(verdict_of_rate(between(0.97, 0.98), noise, 0.99), bar_verdict::not_shown);
  }
}

}  // namespace
}  // namespace cufault
