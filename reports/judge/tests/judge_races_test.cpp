// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of arms that race: recorded trials and those of this run are samples. Others: reports/answers/tests/gates.txt.
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
  std::ranges::reverse(seen);
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

TEST(judge, samples_of_one_outcome_are_as_expected) {
  EXPECT_EQ(judged_race(races(0, 5), mixture(0, 3)), verdict::reproduced);
  EXPECT_EQ(judged_race(races(5, 0), mixture(3, 0)), verdict::ok);
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

// ---- arms whose trials differ though nothing says that they may ----

arm_result differing(const trials& seen) {
  arm_result a = arm(fault, seen);
  note_differing_trials(a);
  return a;
}

/// Judged by one recorded trial of a stack, as in a run.
arm_result judged_here(arm_result a, const observation& recorded) {
  const arm_result shown = expects({recorded});
  const reference known{.from = {expectation_of(shown, false)}};
  judge(a, &known);
  return a;
}

TEST(judge, trials_that_differ_have_a_rate) {
  EXPECT_EQ(differing(mixture(3, 1)).races, trials_differed);
  EXPECT_EQ(differing(mixture(4, 0)).races, "");
  EXPECT_EQ(differing({at_level(1, trial({success})), at_level(2, trial({no_memory}))}).races, "");
  EXPECT_EQ(differing({trial({success}), not_provoked("no GPU")}).races, "");
  auto declared = arm(fault, mixture(3, 1));
  declared.races = "two threads";
  note_differing_trials(declared);
  EXPECT_EQ(declared.races, "two threads");
}

TEST(judge, a_status_that_came_in_some_trials_is_a_flake_and_noted) {
  for (int often = 1; often < 4; ++often) {
    const auto a = judged_here(differing(mixture(4 - often, often)), trial({success}));
    EXPECT_EQ(a.judged, verdict::flaky) << often;
    EXPECT_EQ(a.why, "cublasCreate: SUCCESS → ALLOC_FAILED; " + std::to_string(often) + " of 4 trials");
    EXPECT_EQ(a.noted, a.why);
  }
}

TEST(judge, what_came_in_all_trials_is_a_change_and_says_in_how_many) {
  const auto once = judged_here(differing(mixture(0, 1)), trial({success}));
  EXPECT_EQ(once.judged, verdict::changed);
  EXPECT_EQ(once.why, "cublasCreate: SUCCESS → ALLOC_FAILED; 1 trial");
  EXPECT_EQ(what_changed({once.judged, once.why}), "SUCCESS → ALLOC_FAILED; 1 trial");
  EXPECT_EQ(judged_here(differing(mixture(0, 4)), trial({success})).why,
            "cublasCreate: SUCCESS → ALLOC_FAILED; 4 of 4 trials");
  const auto none = judged_here(differing(mixture(2, 2)), trial({internal}));
  EXPECT_EQ(none.judged, verdict::changed);
  EXPECT_TRUE(none.why.ends_with("; 0 of 4 trials as recorded")) << none.why;
  EXPECT_EQ(judged_here(differing(mixture(4, 0)), trial({success})).why, "") << "as recorded";
}

TEST(judge, one_trial_proves_wrong_numbers_written_memory_and_a_crash_but_no_hang) {
  const auto among_right_ones = [](observation odd) {
    return judged_here(differing({std::move(odd), trial({right}), trial({right}), trial({right})}),
                       trial({right}));
  };
  auto written = trial({right});
  written.calls[0].what.facts["written"] = std::vector<std::string>{"C", "outside"};
  auto written_in_c = trial({right});
  written_in_c.calls[0].what.facts["written"] = std::vector<std::string>{"C"};
  auto guards = trial({right});
  guards.calls[0].what.facts["written_beyond"] = std::vector<std::string>{"C"};
  for (const observation& odd : {trial({wrong}), written, guards, crash({right})}) {
    const auto a = among_right_ones(odd);
    EXPECT_EQ(a.judged, verdict::worsened) << a.why;
    EXPECT_TRUE(a.why.ends_with("; 1 of 4 trials")) << a.why;
  }
  auto damaged = trial({right});
  damaged.context = "damaged";
  for (const observation& odd : {hang({}), damaged, written_in_c, trial({internal})})
    EXPECT_EQ(among_right_ones(odd).judged, verdict::flaky);
  EXPECT_EQ(
      judged_here(differing({trial({wrong}), trial({wrong}), trial({internal})}), trial({wrong})).judged,
      verdict::flaky)
      << "wrong numbers are recorded";
}

TEST(judge, a_recorded_rate_of_such_an_arm_makes_it_flaky_from_then_on) {
  arm_result shown = differing(mixture(4, 1));
  shown.expected = true;
  const auto again = [&](const trials& seen) {
    auto a = arm(fault, seen);
    judge_as(a, shown);
    return a;
  };
  EXPECT_EQ(again(mixture(1, 0)).judged, verdict::flaky);
  EXPECT_EQ(again(mixture(0, 1)).judged, verdict::flaky);
  EXPECT_EQ(again(mixture(0, 1)).noted, "");
  EXPECT_EQ(again(mixture(0, 1)).why,
            "cublasCreate: ALLOC_FAILED; context usable: 1 of 5 → 1 of 1 trials (its trials differed)");
  EXPECT_EQ(again({trial({internal})}).judged, verdict::changed);
  EXPECT_EQ(again({crash({})}).judged, verdict::worsened);
}

TEST(judge, a_measurement_that_was_out_of_its_band_in_some_trials_is_a_flake) {
  const auto found = [](double algorithms) {
    auto o = trial({no_memory});
    o.measurements = {{"algorithms found", algorithms, ""}};
    return o;
  };
  const auto a = judged_here(arm(fault, {found(5), found(4), found(4), found(4)}), found(4));
  EXPECT_EQ(a.judged, verdict::flaky);
  EXPECT_EQ(a.why, "algorithms found: 4 → 5; 1 of 4 trials");
  EXPECT_EQ(a.noted, a.why);
  EXPECT_EQ(judged_here(arm(fault, {found(5), found(5)}), found(4)).why,
            "algorithms found: 4 → 5; 2 of 2 trials");
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
