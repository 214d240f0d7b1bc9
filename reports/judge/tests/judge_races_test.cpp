// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of arms that race: recorded trials and those of this run are samples.
#include "reports/judge/comparison.hpp"
#include "reports/judge/tests/judged.hpp"
#include "reports/model/arm_line.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cufault {
namespace {

using namespace examples;

trials mixture(int successes, int failures) {
  trials all(static_cast<std::size_t>(successes), trial({success}));
  all.insert(all.end(), static_cast<std::size_t>(failures), trial({no_memory}));
  return all;
}

arm_result races(int successes, int failures) {
  arm_result e = expects(mixture(successes, failures));
  e.races = "two threads race for the last block";
  return e;
}

verdict judged_race(const arm_result& shown, const trials& seen) {
  return judged_arm(fault, seen, &shown).judged;
}

TEST(judge, a_rate_that_holds_is_flaky) {
  const auto e = races(10, 10);
  const auto a = judged_arm(fault, mixture(11, 9), &e);
  EXPECT_EQ(a.judged, verdict::flaky);
  EXPECT_EQ(
      a.why,
      "cublasCreate: SUCCESS; context usable: 10 of 20 → 11 of 20 trials (two threads race for the last "
      "block)");
  auto filed = e;
  filed.runs = {{.started = "2026-11-21T07:27:40Z", .trials = 20}};
  EXPECT_TRUE(judged_arm(fault, mixture(11, 9), &filed)
                  .why.ends_with("(two threads race for the last block; recorded 2026-11-21)"));
}

TEST(judge, the_order_of_racing_trials_does_not_matter) {
  auto seen = mixture(10, 10);
  std::reverse(seen.begin(), seen.end());
  std::swap(seen[0], seen[15]);
  EXPECT_EQ(judged_race(races(10, 10), seen), verdict::flaky);
}

// Fisher's exact test for 20 trials against 50 of 100: 0.0057 for 3, and 0.00096 for 2.
TEST(judge, the_edge_of_chance_is_one_in_a_thousand) {
  const auto e = races(50, 50);
  EXPECT_EQ(judged_race(e, mixture(3, 17)), verdict::flaky);
  EXPECT_EQ(judged_race(e, mixture(17, 3)), verdict::flaky);
  const auto a = judged_arm(fault, mixture(18, 2), &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "rate moved: cublasCreate: SUCCESS; context usable: 50 of 100 → 18 of 20 trials");
  EXPECT_EQ(judged_race(e, mixture(2, 18)), verdict::changed);
}

TEST(judge, an_outcome_that_one_sample_lacks_may_be_rare) {
  EXPECT_EQ(judged_race(races(50, 50), mixture(5, 0)), verdict::flaky);
  EXPECT_EQ(judged_race(races(50, 50), mixture(20, 0)), verdict::changed) << "half of the trials were";
  EXPECT_EQ(judged_race(races(20, 0), mixture(11, 9)), verdict::flaky);
  EXPECT_EQ(judged_race(races(20, 0), mixture(10, 10)), verdict::changed);
  auto seen = mixture(10, 9);
  seen.push_back(trial({internal}));
  EXPECT_EQ(judged_race(races(10, 10), seen), verdict::flaky);
}

TEST(judge, samples_that_share_no_outcome_differ) {
  EXPECT_EQ(judged_race(races(10, 10), {trial({internal})}), verdict::changed);
  EXPECT_EQ(judged_race(races(0, 5), mixture(5, 0)), verdict::gone);
}

TEST(judge, samples_of_one_outcome_are_as_expected) {
  EXPECT_EQ(judged_race(races(0, 5), mixture(0, 3)), verdict::reproduced);
  EXPECT_EQ(judged_race(races(5, 0), mixture(3, 0)), verdict::ok);
}

TEST(judge, one_crash_that_a_race_never_showed_is_worsened) {
  auto seen = mixture(10, 9);
  seen.push_back(crash({success}));
  EXPECT_EQ(judged_race(races(10, 10), seen), verdict::worsened);
  EXPECT_EQ(judged_race(races(10, 10), {trial({internal}), crash({success})}), verdict::worsened);
}

TEST(judge, a_rate_that_depends_on_load_is_not_compared_but_its_outcomes_are) {
  const auto judged_under_load = [&](const trials& seen) {
    auto a = arm(fault, seen);
    a.rate_depends_on_load = true;
    judge_as(a, races(50, 50));
    return a.judged;
  };
  EXPECT_EQ(judged_under_load(mixture(20, 0)), verdict::flaky);
  EXPECT_EQ(judged_under_load(mixture(0, 20)), verdict::flaky);
  EXPECT_EQ(judged_under_load({trial({internal})}), verdict::changed);
  EXPECT_EQ(judged_under_load({crash({success})}), verdict::worsened);
}

TEST(judge, an_arm_that_did_not_race_where_it_was_recorded_must_not_differ) {
  EXPECT_EQ(judged(fault, {trial({no_memory})}, mixture(1, 4)), verdict::changed);
}

TEST(judge, a_run_and_a_comparison_of_records_have_one_statistic) {
  const arm_result e = races(10, 10);
  for (int successes = 0; successes <= 20; ++successes) {
    arm_result a = arm(fault, mixture(successes, 20 - successes));
    a.races = e.races;
    const bool same = is_same(compare_arms(&e, &a).v);
    judge_as(a, e);
    EXPECT_EQ(same, as_expected(a.judged)) << successes;
  }
}

TEST(judge, no_verdict_changes_what_was_seen) {
  for (const trials& seen : {mixture(10, 10), mixture(20, 0), trials{trial({internal})}, trials{crash({})},
                             trials{not_provoked("no GPU")}, trials{}})
    for (const auto kind : {control, fault, remedy, dead_end, arm_kind::diagnosis}) {
      auto a = arm(kind, seen);
      a.races = "chance";
      const auto before = arm_json("memory.leak", a).dump();
      judge_as(a, races(10, 10));
      EXPECT_EQ(arm_json("memory.leak", a).dump(), before) << to_string(a.judged);
    }
}

}  // namespace
}  // namespace cufault
