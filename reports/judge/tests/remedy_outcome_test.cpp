// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/remedy_outcome.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

using namespace examples;

std::optional<remedy_outcome> tried(const arm_result& arm) {
  return remedy_outcome_of({.name = "memory.leak", .arms = {}}, arm);
}

TEST(remedy_outcome, has_cleared_where_each_trial_gives_right_numbers_after_it) {
  auto trim = arm(arm_kind::remedy, {trial({no_memory}, {right}), trial({no_memory}, {right})});
  const auto found = tried(trim);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->cleared);
  EXPECT_EQ(found->words, "empty the pool");
  ASSERT_EQ(found->before.size(), 2U);
  EXPECT_EQ(found->before[0]->what.status, no_memory);
  trim.trials[1] = trial({no_memory}, {internal});
  EXPECT_FALSE(tried(trim)->cleared);
}

TEST(remedy_outcome, names_the_arm_that_it_answers_from_the_start) {
  auto lazy = arm(arm_kind::remedy, {trial({success})});
  EXPECT_FALSE(tried(lazy)) << "nothing was applied, nothing failed";
  lazy.against = "fault";
  lazy.summary = "lazy loading";
  const auto found = tried(lazy);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->against, "memory.leak/fault");
  EXPECT_EQ(found->words, "lazy loading");
  EXPECT_TRUE(found->before.empty());
}

TEST(remedy_outcome, is_none_where_nothing_natural_was_tried) {
  EXPECT_FALSE(tried(arm(arm_kind::fault, {trial({no_memory}, {right})})));
  EXPECT_FALSE(tried(arm(arm_kind::control, {trial({success})})));
  EXPECT_FALSE(tried(arm(arm_kind::remedy, {not_provoked("no GPU")})));
  auto injected = arm(arm_kind::remedy, {trial({no_memory}, {right})});
  injected.counterpart_of = "trim";
  EXPECT_FALSE(tried(injected));
  EXPECT_FALSE(tried(arm(arm_kind::diagnosis, {trial({no_memory})})));
  auto not_provoked_at_all = arm(arm_kind::remedy, {trial({no_memory}, {right})});
  not_provoked_at_all.judged = verdict::not_provoked;
  EXPECT_FALSE(tried(not_provoked_at_all));
}

}  // namespace
}  // namespace cufault
