// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

work_item shared(double weight = 1) {
  return {.needs_gpu = true, .weight = weight};
}
work_item alone(double weight = 1) {
  return {.needs_gpu = true, .exclusive = true, .weight = weight};
}
work_item host(double weight = 1) {
  return {.weight = weight};
}
work_item light() {
  return {.needs_gpu = true, .in_addition = true, .weight = 1};
}
work_item hanging() {
  return {.needs_gpu = true, .exclusive = true, .last = true, .weight = 1000};
}

std::vector<std::size_t> as_given(std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) order.push_back(i);
  return order;
}

TEST(order_of_arms, begins_with_the_longest_and_leaves_what_may_hang_for_the_end) {
  const std::vector<work_item> items{hanging(), host(), alone(), shared(1), shared(3), host(9), alone(2)};
  EXPECT_THAT(longest_first(items), ElementsAre(4, 3, 6, 2, 5, 1, 0));
}

TEST(order_of_arms, puts_those_together_that_can_share_a_process) {
  std::vector<work_item> items(4, shared());
  items[1].process = items[3].process = "A";
  EXPECT_THAT(longest_first(items), ElementsAre(0, 2, 1, 3));
}

TEST(second_look, is_first_at_one_of_each_change_and_at_what_costs_most) {
  const std::vector<surprise> all{{verdict::changed, "a", 1},      {verdict::changed, "a", 1},
                                  {verdict::gone, "a", 1},         {verdict::changed, "b", 1},
                                  {verdict::worsened, "a", 1},     {verdict::worsened, "a", 1},
                                  {verdict::remedy_broken, "c", 1}};
  EXPECT_THAT(worth_a_second_look(all, 100), ElementsAre(4, 6, 0, 3, 2, 5, 1));
  EXPECT_THAT(worth_a_second_look(all, 3), ElementsAre(4, 6, 0));
  EXPECT_THAT(worth_a_second_look(all, 0.5), ElementsAre());
  EXPECT_THAT(worth_a_second_look({}, 100), ElementsAre());
}

TEST(second_look, passes_what_does_not_fit_and_takes_what_does) {
  const std::vector<surprise> all{
      {verdict::worsened, "hangs", 180}, {verdict::gone, "a", 2}, {verdict::gone, "b", 2}};
  EXPECT_THAT(worth_a_second_look(all, 3), ElementsAre(1));
  EXPECT_THAT(worth_a_second_look(all, 4), ElementsAre(1, 2));
}

TEST(order_of_arms, is_drawn_from_the_seed_alone) {
  std::vector<work_item> items(8, shared());
  items[2].last = true;
  // Literal: every machine and standard library must draw the same.
  EXPECT_THAT(shuffled(items, 1), ElementsAreArray(shuffled(items, 1)));
  EXPECT_NE(shuffled(items, 1), shuffled(items, 2));
  auto sorted = shuffled(items, 3);
  EXPECT_EQ(sorted.back(), 2U) << "may leave the GPU unusable";
  std::sort(sorted.begin(), sorted.end());
  EXPECT_THAT(sorted, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(stable_hash, is_fnv_1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

TEST(next_random, is_splitmix64) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(next_random(state), 6457827717110365317U);
  EXPECT_EQ(next_random(state), 3203168211198807973U);
}

TEST(scheduler, keeps_exclusive_items_alone_and_lets_others_pass_them) {
  scheduler plan({shared(), alone(), shared(), host()}, as_given(4), 1, 8);
  const auto first = plan.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->item, 0U);
  const auto second = plan.next();
  EXPECT_EQ(second->item, 2U) << "the exclusive one cannot begin";
  EXPECT_EQ(plan.next()->item, 3U) << "it needs no GPU";
  EXPECT_FALSE(plan.next());
  plan.over(*first);
  EXPECT_FALSE(plan.next());
  plan.over(*second);
  const auto exclusive = plan.next();
  ASSERT_TRUE(exclusive);
  EXPECT_EQ(exclusive->item, 1U);
}

TEST(scheduler, starts_nothing_beside_an_exclusive_item_but_what_needs_no_gpu) {
  scheduler plan({alone(), shared(), alone(), host()}, as_given(4), 1, 8);
  const auto exclusive = plan.next();
  EXPECT_EQ(exclusive->item, 0U);
  EXPECT_EQ(plan.next()->item, 3U);
  EXPECT_FALSE(plan.next());
  plan.over(*exclusive);
  EXPECT_EQ(plan.next()->item, 1U);
  EXPECT_FALSE(plan.next());
}

TEST(scheduler, spreads_over_gpus_and_is_exclusive_on_each) {
  scheduler plan({shared(), shared(), alone(), alone()}, as_given(4), 2, 8);
  const auto a = plan.next(), b = plan.next();
  EXPECT_NE(a->device, b->device);
  EXPECT_FALSE(plan.next());
  plan.over(*a);
  const auto exclusive = plan.next();
  ASSERT_TRUE(exclusive);
  EXPECT_EQ(exclusive->device, a->device);
  EXPECT_FALSE(plan.idle(*exclusive->device));
  EXPECT_FALSE(plan.next());
  plan.over(*b);
  EXPECT_EQ(plan.next()->device, b->device);
}

TEST(scheduler, starts_what_may_hang_the_gpu_after_all_others_are_over) {
  scheduler plan({hanging(), host(), hanging()}, longest_first({hanging(), host(), hanging()}), 1, 8);
  const auto first = plan.next();
  EXPECT_EQ(first->item, 1U);
  EXPECT_FALSE(plan.next());
  plan.over(*first);
  const auto second = plan.next();
  EXPECT_EQ(second->item, 0U);
  plan.over(*second);
  const auto third = plan.next();
  ASSERT_TRUE(third);
  EXPECT_FALSE(plan.done());
  plan.over(*third);
  EXPECT_TRUE(plan.done());
}

TEST(scheduler, runs_those_that_may_hang_the_gpu_beside_each_other_where_they_share_it) {
  work_item sharing = hanging();
  sharing.exclusive = false;
  scheduler plan({sharing, shared(), sharing}, as_given(3), 1, 8);
  const auto first = plan.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->item, 1U);
  EXPECT_FALSE(plan.next());
  plan.over(*first);
  EXPECT_EQ(plan.next()->item, 0U);
  EXPECT_EQ(plan.next()->item, 2U) << "the one before is still running";
}

// In any drawn order each item begins once, exclusive ones alone.
TEST(scheduler, runs_everything_once_in_any_order) {
  std::vector<work_item> items;
  for (int i = 0; i < 40; ++i)
    items.push_back(i % 4 == 0 ? alone() : i % 7 == 0 ? host() : i % 9 == 0 ? light() : shared());
  items.push_back(hanging());
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::size_t jobs = 1 + seed % 6;
    scheduler plan(items, shuffled(items, seed), 2, jobs);
    std::vector<scheduler::start> running;
    std::vector<int> begun(items.size());
    std::uint64_t state = seed;
    while (!plan.done()) {
      while (running.size() < scheduler::lanes_for(items, jobs)) {
        const auto s = plan.next();
        if (!s) break;
        ++begun[s->item];
        running.push_back(*s);
      }
      ASSERT_FALSE(running.empty()) << "stuck";
      EXPECT_LE(std::ranges::count_if(running, [&](const auto& one) { return !items[one.item].in_addition; }),
                static_cast<std::ptrdiff_t>(jobs));
      for (const auto& one : running) {
        if (!one.device || !items[one.item].exclusive) continue;
        EXPECT_EQ(std::count_if(running.begin(), running.end(),
                                [&](const auto& other) { return other.device == one.device; }),
                  1);
      }
      const auto ended = running.begin() + static_cast<std::ptrdiff_t>(next_random(state) % running.size());
      plan.over(*ended);
      running.erase(ended);
    }
    EXPECT_THAT(begun, testing::Each(1));
  }
}

TEST(scheduler, items_without_a_gpu_take_no_lane_of_those_that_need_one) {
  std::vector<work_item> items{shared(), shared(), host(), host(), host()};
  run_host_items_in_addition(items);
  constexpr std::size_t jobs = 2;
  EXPECT_EQ(scheduler::lanes_for(items, jobs), 3U);
  scheduler plan(items, longest_first(items), 1, jobs);
  std::vector<std::size_t> begun;
  while (const auto s = plan.next()) begun.push_back(s->item);
  EXPECT_THAT(begun, ElementsAre(0, 1, 2));
}

TEST(scheduler, without_a_gpu_no_more_items_run_than_there_are_jobs) {
  std::vector<work_item> items{host(), host(), host()};
  run_host_items_in_addition(items);
  EXPECT_EQ(scheduler::lanes_for(items, 2), 2U);
}

/// Six items of key A, three of B, and one that shares no process.
std::vector<work_item> of_two_keys() {
  std::vector<work_item> items(10, shared());
  for (std::size_t i = 1; i < 10; ++i) items[i].process = i < 7 ? "A" : "B";
  return items;
}

TEST(scheduler, shares_keys_out_among_lanes_that_keep_to_them) {
  scheduler plan(of_two_keys(), as_given(10), 1, 8);
  EXPECT_EQ(plan.next("")->item, 0U) << "first in the order given";
  const auto a = plan.next("");
  EXPECT_EQ(a->item, 1U) << "most are of A";
  EXPECT_EQ(plan.next("")->item, 7U) << "of A are five for two lanes, of B three for one";
  EXPECT_EQ(plan.next("")->item, 2U);
  plan.over(*a);
  EXPECT_EQ(plan.next("A")->item, 3U);
  EXPECT_EQ(plan.next("B")->item, 8U);
  EXPECT_EQ(plan.next("B")->item, 9U);
  EXPECT_EQ(plan.next("B")->item, 4U) << "none is left of its own";
}

TEST(scheduler, keeps_only_items_that_stay_in_a_lane_to_one) {
  auto items = of_two_keys();
  for (std::size_t i = 1; i < 7; ++i) items[i].stays_in_lane = false;
  scheduler plan(items, {9, 1, 8, 2, 7, 3, 4, 5, 6, 0}, 1, 8);
  EXPECT_EQ(plan.next("")->item, 9U);
  EXPECT_EQ(plan.next("A")->item, 1U);
  EXPECT_EQ(plan.next("A")->item, 8U) << "the next in the order given, and none of A";
  EXPECT_EQ(plan.next("B")->item, 2U) << "in the order given, though 7 is of its key";
  EXPECT_EQ(plan.next("B")->item, 7U);
}

TEST(scheduler, shares_keys_out_by_the_work_that_they_have) {
  std::vector<work_item> items{shared(1), shared(1), shared(3)};
  items[0].process = items[1].process = "A";
  items[2].process = "B";
  scheduler plan(items, as_given(3), 1, 8);
  EXPECT_EQ(plan.next("")->item, 0U) << "the first, while nothing runs";
  EXPECT_EQ(plan.next("")->item, 2U) << "of B there is more";
}

TEST(scheduler, lets_no_key_that_is_alone_on_its_gpu_go_first) {
  std::vector<work_item> items{shared(2), alone(2)};
  items[0].process = "A";
  items[1].process = "B";
  scheduler plan(items, as_given(2), 1, 8);
  EXPECT_EQ(plan.next("B")->item, 0U);
}

TEST(scheduler, runs_as_many_as_there_are_jobs_and_half_as_many_that_rarely_call_the_driver) {
  const std::vector<work_item> items{light(), light(), light(), shared(), shared(), shared()};
  EXPECT_EQ(scheduler::lanes_for(items, 2), 3U);
  EXPECT_EQ(scheduler::lanes_for(items, 1), 1U);
  EXPECT_EQ(scheduler::lanes_for(items, 12), 6U);
  EXPECT_EQ(scheduler::lanes_for({shared(), shared(), shared()}, 2), 2U);
  scheduler plan(items, as_given(6), 1, 2);
  const auto waits = plan.next();
  EXPECT_EQ(waits->item, 0U);
  EXPECT_EQ(plan.next()->item, 3U);
  const auto job = plan.next();
  EXPECT_EQ(job->item, 4U);
  EXPECT_FALSE(plan.next());
  plan.over(*waits);
  EXPECT_EQ(plan.next()->item, 1U);
  EXPECT_FALSE(plan.next());
  plan.over(*job);
  EXPECT_EQ(plan.next()->item, 5U);
}

TEST(scheduler, gives_jobs_to_those_that_rarely_call_the_driver_where_nothing_else_can_begin) {
  for (const work_item& cannot : {light(), alone(), hanging()}) {
    scheduler plan({light(), light(), light(), cannot}, as_given(4), 1, 2);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto s = plan.next();
      ASSERT_TRUE(s);
      EXPECT_EQ(s->item, i);
    }
    EXPECT_FALSE(plan.next());
  }
}

TEST(scheduler, keeps_to_the_order_with_one_job) {
  scheduler plan({shared(), light(), shared()}, as_given(3), 1, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto s = plan.next();
    ASSERT_TRUE(s);
    EXPECT_EQ(s->item, i);
    EXPECT_FALSE(plan.next());
    plan.over(*s);
  }
}

TEST(weight_of_an_arm, is_the_time_that_its_trials_took_earlier) {
  arm a{.name = "fault", .repeats = 3, .timeout = std::chrono::seconds(60)};
  EXPECT_DOUBLE_EQ(weight_of(a), 18) << "a tenth of the timeout, each trial";
  std::vector<observation> earlier(3);
  EXPECT_DOUBLE_EQ(weight_of(a, earlier), 18) << "no trial says how long it took";
  earlier[0].milliseconds = 500;
  earlier[2].milliseconds = 1500;
  EXPECT_DOUBLE_EQ(weight_of(a, earlier), 3);
  a.levels = level_range{.unit = "MiB", .values = {1, 2, 4}};
  EXPECT_DOUBLE_EQ(weight_of(a, earlier), 9);
}

}  // namespace
}  // namespace cufault
