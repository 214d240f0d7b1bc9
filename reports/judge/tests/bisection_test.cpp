// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/bisection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double one_percent = 0.01;

/// Releases that are tried, in order, when `result` says what each comes to.
template <class CameTo>
std::vector<std::size_t> tried(bisection& search, const CameTo& result) {
  std::vector<std::size_t> order;
  while (const auto next = search.next()) {
    order.push_back(*next);
    search.add(*next, result(*next));
    if (order.size() > 100) ADD_FAILURE() << "the search does not end";
    if (order.size() > 100) break;
  }
  return order;
}

TEST(bisection, finds_each_first_bad_release_by_halving) {
  constexpr std::size_t last = 46;
  for (std::size_t first_bad = 1; first_bad <= last; ++first_bad) {
    bisection search(0, last);
    const auto order = tried(
        search, [&](std::size_t i) { return std::optional(i < first_bad ? likeness::good : likeness::bad); });
    EXPECT_EQ(search.bad(), first_bad);
    EXPECT_EQ(search.good(), first_bad - 1);
    EXPECT_FALSE(search.mended());
    EXPECT_THAT(search.between(), IsEmpty());
    EXPECT_LE(order.size(), 6u);  // 2^6 > 46
    EXPECT_EQ(search.decisions(), order.size());
  }
}

TEST(bisection, finds_the_release_that_mended_where_the_good_end_is_newer) {
  bisection search(9, 2);
  tried(search, [](std::size_t i) { return std::optional(i < 6 ? likeness::bad : likeness::good); });
  EXPECT_TRUE(search.mended());
  EXPECT_EQ(search.bad(), 5u);
  EXPECT_EQ(search.good(), 6u);
}

TEST(bisection, goes_round_releases_that_say_nothing) {
  bisection search(0, 10);
  const auto order = tried(search, [](std::size_t i) -> std::optional<likeness> {
    if (i == 5) return likeness::other;
    if (i == 4) return {};
    return i < 7 ? likeness::good : likeness::bad;
  });
  EXPECT_EQ(search.bad(), 7u);
  EXPECT_EQ(search.good(), 6u);
  EXPECT_EQ(order.front(), 5u);
  EXPECT_EQ(std::count(order.begin(), order.end(), 5u), 1);
}

TEST(bisection, answers_with_a_range_where_those_at_the_change_say_nothing) {
  bisection search(0, 8);
  tried(search, [](std::size_t i) -> std::optional<likeness> {
    if (i == 3 || i == 4) return likeness::other;
    return i < 4 ? likeness::good : likeness::bad;
  });
  EXPECT_EQ(search.good(), 2u);
  EXPECT_EQ(search.bad(), 5u);
  EXPECT_THAT(search.between(), ElementsAre(3u, 4u));
}

TEST(bisection, has_nothing_to_try_between_neighbours) {
  EXPECT_FALSE(bisection(3, 4).next());
  EXPECT_THAT(bisection(3, 4).between(), IsEmpty());
}

TEST(release_test, needs_three_trials_where_the_ends_never_vary) {
  const release_test test({{"exit 0", 6}}, {{"exit 3", 6}}, one_percent);
  EXPECT_LT(test.chance(), error_of_comparison(0, one_percent));
  EXPECT_FALSE(test.decide({}));
  EXPECT_FALSE(test.decide({{"exit 3", 2}}));
  EXPECT_EQ(test.decide({{"exit 3", 3}}), likeness::bad);
  EXPECT_EQ(test.decide({{"exit 0", 3}}), likeness::good);
}

TEST(release_test, takes_an_unrelated_failure_for_neither) {
  const release_test test({{"exit 0", 6}}, {{"exit 3", 6}}, one_percent);
  EXPECT_EQ(test.likeness_of("SIGSEGV"), likeness::other);
  EXPECT_EQ(test.decide({{"SIGSEGV", 4}}), likeness::other);
  EXPECT_EQ(test.decide({{"SIGSEGV", 3}, {"its timeout", 1}}), likeness::other);
  // One of them among many is noise, not the answer.
  EXPECT_EQ(test.decide({{"SIGSEGV", 1}, {"exit 3", 8}}), likeness::bad);
}

TEST(release_test, does_not_decide_what_is_half_of_each) {
  const release_test test({{"exit 0", 6}}, {{"exit 3", 6}}, one_percent);
  EXPECT_FALSE(test.decide({{"exit 0", 5}, {"exit 3", 5}}));
  EXPECT_FALSE(test.decide({{"SIGSEGV", 5}, {"exit 3", 8}}));
}

TEST(release_test, counts_the_outcome_that_is_more_frequent_at_the_bad_end_as_bad) {
  const release_test test({{"ok", 22}, {"wrong", 2}}, {{"ok", 12}, {"wrong", 8}, {"crash", 4}}, one_percent);
  EXPECT_EQ(test.likeness_of("ok"), likeness::good);
  EXPECT_EQ(test.likeness_of("wrong"), likeness::bad);
  EXPECT_EQ(test.likeness_of("crash"), likeness::bad);
}

TEST(release_test, cannot_tell_ends_apart_that_behave_alike) {
  EXPECT_EQ(release_test({{"exit 3", 6}}, {{"exit 3", 6}}, one_percent).chance(), 1);
  EXPECT_GT(release_test({{"a", 5}, {"b", 1}}, {{"a", 3}, {"b", 3}}, one_percent).chance(), 0.05);
  // Each trial has an outcome of its own (a time, an address): any two such ends differ.
  outcome_counts good, bad;
  for (const char* each : {"1", "2", "3", "4", "5", "6"}) good[each] = 1;
  for (const char* each : {"7", "8", "9", "a", "b", "c"}) bad[each] = 1;
  EXPECT_EQ(release_test(good, bad, one_percent).chance(), 1);
}

TEST(comparisons_of_ends, spend_no_more_than_the_error) {
  EXPECT_EQ(trials_before_comparison(0), 6);
  EXPECT_EQ(trials_before_comparison(3), 48);
  double spent = 0;
  for (int number = 0; number < 20; ++number) spent += error_of_comparison(number, one_percent);
  EXPECT_LE(spent, one_percent);
}

/// How many of 2000 releases with this rate of bad outcomes are decided as `as`, and trials in all. The generator is seeded.
std::pair<int, int> decided_as(likeness as, const release_test& test, double rate) {
  std::mt19937 random(41);
  std::bernoulli_distribution fails(rate);
  int wrong = 0, trials = 0;
  for (int release = 0; release < 2000; ++release) {
    outcome_counts seen;
    std::optional<likeness> result;
    for (; !result; result = test.decide(seen)) {
      ++seen[fails(random) ? "exit 3" : "exit 0"];
      ++trials;
    }
    wrong += *result == as ? 1 : 0;
  }
  return {wrong, trials};
}

TEST(release_test, is_wrong_about_racing_releases_as_seldom_as_it_says) {
  const release_test test({{"exit 0", 23}, {"exit 3", 1}}, {{"exit 0", 16}, {"exit 3", 8}}, one_percent);
  const auto [taken_for_bad, trials_of_good] = decided_as(likeness::bad, test, 1.0 / 24);
  const auto [taken_for_good, trials_of_bad] = decided_as(likeness::good, test, 8.0 / 24);
  EXPECT_LE(taken_for_bad, 20);
  EXPECT_LE(taken_for_good, 20);
  EXPECT_LT(trials_of_good / 2000, 40);
  EXPECT_LT(trials_of_bad / 2000, 40);
}

}  // namespace
}  // namespace cufault
