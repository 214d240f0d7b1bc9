// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/judge.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using trials = std::vector<observation>;

verdict judged(arm_kind kind, const trials& expected, const trials& seen) {
  auto a = arm(kind, seen);
  const auto e = expects(expected);
  judge(a, &e);
  return a.judged;
}

arm_result judged_arm(arm_kind kind, const trials& seen, const expectation* e = nullptr) {
  auto a = arm(kind, seen);
  judge(a, e);
  return a;
}

constexpr auto control = arm_kind::control;
constexpr auto fault = arm_kind::fault;
constexpr auto remedy = arm_kind::remedy;
constexpr auto dead_end = arm_kind::dead_end;

// As expected.

TEST(judge, a_control_that_does_as_expected_is_ok) {
  EXPECT_EQ(judged(control, {trial({success, right})}, {trial({success, right})}), verdict::ok);
  EXPECT_NE(judged(control, {trial({success, right})}, {trial({success})}), verdict::ok);
}

TEST(judge, a_fault_that_fails_as_expected_is_reproduced) {
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {trial({no_memory})}), verdict::reproduced);
  EXPECT_NE(judged(fault, {trial({no_memory})}, {trial({internal})}), verdict::reproduced);
}

TEST(judge, a_fault_that_is_known_not_to_fail_is_ok) {
  EXPECT_EQ(judged(fault, {trial({success})}, {trial({success})}), verdict::ok);
}

TEST(judge, a_launch_failure_counts_as_an_assertion_in_a_race_as_rarely_as_it_was_seen) {
  const auto asserts = trial({"cudaErrorAssert"}), fails = trial({"cudaErrorLaunchFailure"});
  const auto expected = expects({asserts});
  const auto racing = [&](int failures, int trials, const expectation& e) {
    auto a = arm(fault, {});
    a.races = "when the error arrives";
    a.trials.assign(static_cast<std::size_t>(trials), asserts);
    std::fill_n(a.trials.begin(), failures, fails);
    judge(a, &e);
    EXPECT_EQ(a.trials[0].calls[0].what.status, failures > 0 ? "cudaErrorLaunchFailure" : "cudaErrorAssert")
        << "what was seen is kept";
    return a.judged;
  };
  EXPECT_EQ(racing(0, 5, expected), verdict::reproduced);
  EXPECT_EQ(racing(1, 5, expected), verdict::reproduced);
  EXPECT_EQ(racing(4, 20, expected), verdict::reproduced);
  EXPECT_EQ(racing(5, 5, expected), verdict::changed);
  EXPECT_EQ(racing(10, 20, expected), verdict::changed);
  // Where rates are stated, they are what is compared.
  auto both = expected;
  both.seen = {{.seen = signature_of(asserts)}, {.seen = signature_of(fails)}};
  both.flaky = stated_rate{.rates = {0.95, 0.05}, .reason = "when the error arrives"};
  EXPECT_EQ(racing(1, 5, both), verdict::flaky);
  EXPECT_EQ(racing(5, 5, both), verdict::changed);

  EXPECT_EQ(judged(fault, {asserts}, {fails}), verdict::changed) << "the arm does not race";
  EXPECT_EQ(judged(fault, {fails}, {asserts}), verdict::changed);
}

TEST(judge, an_arm_with_levels_is_reproduced_whatever_the_number_of_trials_on_a_plateau) {
  EXPECT_EQ(judged(fault, {trial({no_memory}), trial({success})},
                   {trial({no_memory}), trial({no_memory}), trial({success}), trial({success})}),
            verdict::reproduced);
  EXPECT_EQ(judged(fault, {trial({no_memory}), trial({success})}, {trial({success}), trial({no_memory})}),
            verdict::changed);
}

TEST(judge, a_remedy_or_dead_end_is_named_by_what_it_does) {
  for (const auto kind : {remedy, dead_end}) {
    EXPECT_EQ(judged(kind, {trial({no_memory}, {success, right})}, {trial({no_memory}, {success, right})}),
              verdict::cleared);
    EXPECT_EQ(judged(kind, {trial({no_memory}, {no_memory})}, {trial({no_memory}, {no_memory})}),
              verdict::still_fails);
  }
}

TEST(judge, a_success_with_wrong_numbers_does_not_clear) {
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, wrong})}, {trial({no_memory}, {success, wrong})}),
            verdict::still_fails);
}

// Nothing to conclude.

TEST(judge, an_arm_without_trials_is_unresolved) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {}, &e);
  EXPECT_EQ(a.judged, verdict::unresolved);
  EXPECT_EQ(a.why, "no trial was recorded");
}

TEST(judge, one_failure_of_the_harness_makes_an_arm_unresolved) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(
      fault, {trial({no_memory}), not_provoked("no GPU"), at_level(64, harness_failed("channel garbled"))},
      &e);
  EXPECT_EQ(a.judged, verdict::unresolved);
  EXPECT_EQ(a.why, "harness failed: at level 64: channel garbled");
}

TEST(judge, one_trial_that_was_not_provoked_makes_an_arm_not_provoked) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({no_memory}), not_provoked("another process moved 12 MiB")}, &e);
  EXPECT_EQ(a.judged, verdict::not_provoked);
  EXPECT_EQ(a.why, "another process moved 12 MiB");
  EXPECT_TRUE(a.covered);
  EXPECT_EQ(judged_arm(fault, {trial({no_memory})}, &e).judged, verdict::reproduced);
}

TEST(judge, a_control_that_fails_is_unresolved_with_or_without_expectation) {
  for (const auto& bad : {trial({no_memory}), trial({success, wrong}), crash({success})}) {
    const auto e = expects({bad});
    EXPECT_EQ(judged_arm(control, {bad}, &e).judged, verdict::unresolved);
    const auto a = judged_arm(control, {trial({success}), bad});
    EXPECT_EQ(a.judged, verdict::unresolved);
    EXPECT_TRUE(a.why.starts_with("control failed: ")) << a.why;
  }
}

TEST(judge, a_control_with_wrong_numbers_before_a_remedy_fails_too) {
  EXPECT_EQ(judged_arm(control, {trial({wrong}, {right})}).judged, verdict::unresolved);
}

TEST(judge, without_an_expectation_every_kind_is_uncharted) {
  for (const auto kind : {control, fault, remedy, dead_end}) {
    const auto a = judged_arm(kind, {trial({success})});
    EXPECT_EQ(a.judged, verdict::uncharted);
    EXPECT_FALSE(a.covered);
    EXPECT_EQ(a.expectation, "");
    EXPECT_EQ(a.why, "no expectation covers this stack");
  }
}

TEST(judge, an_arm_names_the_expectation_that_it_was_judged_by) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({no_memory})}, &e);
  EXPECT_TRUE(a.covered);
  EXPECT_EQ(a.expectation, "memory.jsonl:4");
  EXPECT_EQ(a.why, "");
}

// Not as expected.

TEST(judge, another_status_is_changed) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({internal})}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(
      a.why,
      "expected cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; seen cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR");
}

TEST(judge, a_control_that_succeeds_in_another_way_is_changed) {
  EXPECT_EQ(judged(control, {trial({success, right})}, {trial({success, success, right})}), verdict::changed);
}

TEST(judge, a_status_that_became_something_worse_is_worsened) {
  auto damaged = trial({no_memory});
  damaged.context = "damaged";
  for (const auto& worse : {damaged, hang({}), crash({}), trial({success, wrong})})
    for (const auto kind : {fault, remedy, dead_end}) {
      EXPECT_EQ(judged(kind, {trial({no_memory})}, {worse}), verdict::worsened);
      EXPECT_EQ(judged(kind, {trial({success})}, {trial({success}), worse}), verdict::worsened);
    }
}

TEST(judge, one_crash_in_place_of_another_is_not_worse) {
  EXPECT_EQ(judged(fault, {crash({success})}, {crash({success}, "cublasCreate")}), verdict::changed);
  EXPECT_EQ(judged(fault, {crash({success})}, {trial({wrong})}), verdict::changed);
}

TEST(judge, a_fault_that_no_longer_fails_is_gone) {
  EXPECT_EQ(judged(fault, {trial({no_memory}), trial({success})}, {trial({success})}), verdict::gone);
  EXPECT_NE(judged(fault, {trial({no_memory}), trial({success})}, {trial({no_memory})}), verdict::gone);
  EXPECT_EQ(judged(fault, {trial({success})}, {trial({success, success})}), verdict::changed);
}

TEST(judge, a_fault_that_newly_fails_is_changed) {
  EXPECT_EQ(judged(fault, {trial({success})}, {trial({no_memory})}), verdict::changed);
}

TEST(judge, a_remedy_whose_fault_no_longer_happens_is_gone) {
  for (const auto kind : {remedy, dead_end}) {
    EXPECT_EQ(judged(kind, {trial({no_memory}, {success, right})}, {trial({success}, {success, right})}),
              verdict::gone);
    EXPECT_EQ(judged(kind, {trial({no_memory}, {success, right})}, {trial({success}, {no_memory})}),
              verdict::gone);
    EXPECT_EQ(judged(kind, {trial({no_memory}, {no_memory})}, {trial({success})}), verdict::gone);
  }
  EXPECT_NE(judged(remedy, {trial({no_memory}, {success, right})}, {trial({internal}, {success, right})}),
            verdict::gone);
}

TEST(judge, a_remedy_that_no_longer_clears_the_same_fault_is_broken) {
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, right})}, {trial({no_memory}, {no_memory})}),
            verdict::remedy_broken);
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, right})}, {trial({no_memory}, {})}),
            verdict::remedy_broken);
}

TEST(judge, a_remedy_that_fails_on_another_fault_is_changed) {
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, right})}, {trial({internal}, {no_memory})}),
            verdict::changed);
}

TEST(judge, a_remedy_in_place_from_the_start_is_broken_when_the_work_fails) {
  EXPECT_EQ(judged(remedy, {trial({success, right})}, {trial({no_memory})}), verdict::remedy_broken);
}

TEST(judge, a_remedy_with_levels_is_broken_by_one_plateau) {
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, right})},
                   {trial({no_memory}, {no_memory}), trial({no_memory}, {success, right})}),
            verdict::remedy_broken);
}

TEST(judge, a_dead_end_that_once_cleared_and_now_fails_is_changed) {
  EXPECT_EQ(judged(dead_end, {trial({no_memory}, {success, right})}, {trial({no_memory}, {no_memory})}),
            verdict::changed);
}

TEST(judge, what_did_not_clear_and_now_clears_is_gone) {
  for (const auto kind : {remedy, dead_end}) {
    EXPECT_EQ(judged(kind, {trial({no_memory}, {no_memory})}, {trial({no_memory}, {success, right})}),
              verdict::gone);
    EXPECT_EQ(judged(kind, {trial({no_memory})}, {trial({success})}), verdict::gone);
    EXPECT_EQ(judged(kind, {trial({no_memory}, {no_memory})}, {trial({no_memory}, {internal})}),
              verdict::changed);
  }
}

TEST(judge, a_remedy_that_clears_in_another_way_is_changed) {
  EXPECT_EQ(
      judged(remedy, {trial({no_memory}, {success, right})}, {trial({no_memory}, {success, success, right})}),
      verdict::changed);
}

TEST(judge, a_remedy_that_ends_in_success_without_right_numbers_has_not_cleared) {
  const auto unchecked = trial({no_memory}, {success});
  EXPECT_EQ(judged(remedy, {unchecked}, {unchecked}), verdict::still_fails);
  EXPECT_EQ(judged(remedy, {trial({no_memory}, {success, right})}, {unchecked}), verdict::remedy_broken);
  auto on_the_host = unchecked;
  on_the_host.context = "none";  // nothing there could compute a product
  EXPECT_EQ(judged(remedy, {on_the_host}, {on_the_host}), verdict::cleared);
}

// Levels.

TEST(judge, a_refined_level_counts_like_a_stated_one) {
  const trials stated{at_level(602, trial({success})), at_level(604, trial({success}))};
  const trials found{stated[0], refined_at(603, trial({internal})), stated[1]};
  const auto e = expects(stated);
  const auto a = judged_arm(fault, found, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(a.why.starts_with("new at 603: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR")) << a.why;
  EXPECT_EQ(judged(fault, found, found), verdict::reproduced);
  EXPECT_EQ(judged(fault, stated, {stated[0], refined_at(603, crash({})), stated[1]}), verdict::worsened);
}

TEST(judge, a_narrow_refined_plateau_that_was_not_visited_again_is_no_difference) {
  const trials found{at_level(600, trial({no_memory})), refined_at(603, trial({internal})),
                     at_level(604, trial({success}))};
  EXPECT_EQ(judged(fault, found, {found[0], found[2]}), verdict::reproduced);
  auto all_stated = found;
  all_stated[1].refined = false;
  const auto e = expects(all_stated);
  const auto a = judged_arm(fault, {found[0], found[2]}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(a.why.starts_with("not seen: at 603: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR")) << a.why;
}

/// cublasCreate fails on the stated levels 0 and 64 and works on 128, and needs `mib` of them.
trials create_needs(std::int64_t mib) {
  return {at_level(0, trial({internal})), at_level(64, trial({internal})),
          refined_at(mib - 1, trial({internal})), refined_at(mib, trial({success})),
          at_level(128, trial({success}))};
}

TEST(judge, an_edge_may_move_within_its_band) {
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(70)), verdict::reproduced);
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(76)), verdict::reproduced);
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(66)), verdict::reproduced);
}

TEST(judge, an_edge_beyond_its_band_is_changed_and_told) {
  const auto e = expects(create_needs(70));
  const auto a = judged_arm(fault, create_needs(127), &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(
      a.why.starts_with("the edge moved: at 126 cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; context "
                        "usable; expected from 0 to 69: "))
      << a.why;
  EXPECT_TRUE(contains(a.why, "; seen from 0 to 126: ")) << a.why;
  const auto high = expects(create_needs(127));
  const auto b = judged_arm(fault, create_needs(70), &high);
  EXPECT_EQ(b.judged, verdict::changed);
  EXPECT_TRUE(b.why.starts_with("the edge moved: at 70 cublasCreate: CUBLAS_STATUS_SUCCESS")) << b.why;
}

TEST(judge, the_edge_of_a_remedy_counts_too) {
  const auto clears_from = [](std::int64_t level) {
    return trials{at_level(8, trial({no_memory}, {no_memory})),
                  refined_at(level - 1, trial({no_memory}, {no_memory})),
                  refined_at(level, trial({no_memory}, {success, right})),
                  at_level(128, trial({no_memory}, {success, right}))};
  };
  EXPECT_EQ(judged(remedy, clears_from(32), clears_from(33)), verdict::still_fails);
  EXPECT_EQ(judged(remedy, clears_from(32), clears_from(64)), verdict::changed);
}

// Measurements.

constexpr double mib = 1 << 20;
/// Within 2 % and a piece of 2 MiB; the other exactly.
constexpr auto banded = "device memory taken by a further handle";
constexpr auto exact = "algorithms found";

observation measured(double value, std::string name = exact) {
  auto o = trial({no_memory});
  o.measurements = {{std::move(name), value, ""}};
  return o;
}

verdict judged_measurement(double expected, double seen, const std::string& name = exact) {
  return judged(fault, {measured(expected, name)}, {measured(seen, name)});
}

TEST(judge, compares_measurements_by_patterns_of_names) {
  ASSERT_FALSE(compared_measurements().empty());
  for (const auto& c : compared_measurements()) {
    EXPECT_NE(std::string(c.names), "");
    EXPECT_GE(c.band, 0) << c.names;
    EXPECT_GE(c.slack, 0) << c.names;
  }
  EXPECT_EQ(judged_measurement(4, 5, "algorithms found"), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5, "algorithms found for 64"), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5, "some algorithms found"), verdict::reproduced);
  EXPECT_EQ(judged_measurement(4, 5, "milliseconds"), verdict::reproduced);
}

TEST(judge, a_measurement_in_its_band_is_as_expected) {
  EXPECT_EQ(judged_measurement(4, 4), verdict::reproduced);
  EXPECT_EQ(judged_measurement(0, 0), verdict::reproduced);
  EXPECT_EQ(judged_measurement(4, 3), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5), verdict::changed);
  EXPECT_EQ(judged_measurement(1000 * mib, 1021 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(1000 * mib, 979 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(1000 * mib, 1023 * mib, banded), verdict::changed);
  EXPECT_EQ(judged_measurement(1000 * mib, 977 * mib, banded), verdict::changed);
}

TEST(judge, a_measurement_may_see_a_piece_of_memory_more_or_less) {
  EXPECT_EQ(judged_measurement(8 * mib, 10 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(8 * mib, 6 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(8 * mib, 12 * mib, banded), verdict::changed);
  EXPECT_EQ(judged_measurement(0, 2 * mib, "device memory not given back by cublasDestroy"),
            verdict::reproduced);
  EXPECT_EQ(judged_measurement(0, 4 * mib, "device memory not given back by cublasDestroy"),
            verdict::changed);
}

TEST(judge, a_measurement_of_several_trials_may_be_anywhere_between_them) {
  const trials expected{measured(10), measured(20)};
  EXPECT_EQ(judged(fault, expected, {measured(15), measured(20)}), verdict::reproduced);
  EXPECT_EQ(judged(fault, expected, {measured(15), measured(21)}), verdict::changed);
  EXPECT_EQ(judged(fault, expected, {measured(9), measured(15)}), verdict::changed);
}

TEST(judge, a_measurement_out_of_its_band_is_told) {
  const auto e = expects({measured(4)});
  EXPECT_EQ(judged_arm(fault, {measured(4), measured(6)}, &e).why,
            "algorithms found: expected 4, seen 4 to 6");
  const auto range = expects({measured(4), measured(8)});
  EXPECT_EQ(judged_arm(fault, {measured(2)}, &range).why, "algorithms found: expected 4 to 8, seen 2");
  const auto band = expects({measured(100 * mib, banded)});
  EXPECT_EQ(judged_arm(fault, {measured(200 * mib, banded)}, &band).why,
            "device memory taken by a further handle: expected 104857600 (band 100663296 to 109051904), seen "
            "209715200");
}

TEST(judge, a_measurement_that_only_one_of_both_has_is_changed) {
  const auto with = expects({measured(4)}), without = expects({trial({no_memory})});
  const auto gone = judged_arm(fault, {trial({no_memory})}, &with);
  EXPECT_EQ(gone.judged, verdict::changed);
  EXPECT_EQ(gone.why, "expected, and not measured: algorithms found: 4");
  const auto appeared = judged_arm(fault, {measured(4)}, &without);
  EXPECT_EQ(appeared.judged, verdict::changed);
  EXPECT_EQ(appeared.why, "measured, and not expected: algorithms found: 4");
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {measured(4, "milliseconds")}), verdict::reproduced);
}

TEST(judge, a_control_is_held_to_its_measurements_too) {
  auto before = trial({success, right}), after = before;
  before.measurements = {{exact, 4, ""}};
  after.measurements = {{exact, 5, ""}};
  EXPECT_EQ(judged(control, {before}, {before}), verdict::ok);
  EXPECT_EQ(judged(control, {before}, {after}), verdict::changed);
}

TEST(judge, a_difference_in_steps_is_told_before_one_in_measurements) {
  auto both = measured(6);
  both.calls[0].what = step_of("cublasCreate", internal);
  const auto e = expects({measured(4)});
  const auto a = judged_arm(fault, {both}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(a.why.starts_with("expected cublasCreate: CUBLAS_STATUS_ALLOC_FAILED")) << a.why;
}

// Facts.

TEST(judge, another_fact_is_changed_and_told) {
  auto before = trial({no_memory}), after = before;
  before.calls[0].what.facts = {{"blamed", std::int64_t{8}}};
  after.calls[0].what.facts = {{"blamed", std::int64_t{9}}};
  const auto e = expects({before});
  const auto a = judged_arm(fault, {after}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(contains(a.why, "(blamed 8)") && contains(a.why, "(blamed 9)")) << a.why;
}

TEST(judge, of_a_long_list_of_calls_those_that_differ_are_told) {
  observation before = trial({});
  for (int i = 0; i < 20; ++i) before.calls.push_back(call("cublasCreate", success));
  auto after = before;
  after.calls[7].what = step_of("cublasCreate", no_memory);
  const auto e = expects({before});
  EXPECT_EQ(judged_arm(fault, {after}, &e).why,
            "expected cublasCreate: CUBLAS_STATUS_SUCCESS; seen cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  for (int i = 8; i < 14; ++i)
    after.calls[static_cast<std::size_t>(i)].what = step_of("cublasCreate", no_memory);
  EXPECT_TRUE(judged_arm(fault, {after}, &e).why.ends_with("; and 2 more"));
}

TEST(judge, where_calls_differ_it_is_told_what_became_of_the_context) {
  auto after = trial({success, no_memory});
  after.context = "damaged";
  const auto e = expects({trial({success, internal})});
  EXPECT_EQ(judged_arm(fault, {after}, &e).why,
            "expected cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; seen cublasCreate: "
            "CUBLAS_STATUS_ALLOC_FAILED; context: expected usable, seen damaged");
}

// Time.

TEST(judge, time_that_ran_out_between_calls_is_unresolved) {
  auto late = trial({no_memory});
  late.ended = outcome::timed_out;
  late.context = "unchecked";
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {late}), verdict::unresolved);
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {trial({no_memory}), late}), verdict::unresolved);
}

// Races.

expectation races(double rate_of_success) {
  auto e = expects({trial({success}), trial({no_memory})});
  e.flaky = stated_rate{{rate_of_success, 1 - rate_of_success}, "two threads race for the last block"};
  return e;
}

trials mixture(int successes, int failures) {
  trials all(static_cast<std::size_t>(successes), trial({success}));
  all.insert(all.end(), static_cast<std::size_t>(failures), trial({no_memory}));
  return all;
}

TEST(judge, a_stated_rate_that_holds_is_flaky) {
  const auto e = races(0.5);
  const auto a = judged_arm(fault, mixture(11, 9), &e);
  EXPECT_EQ(a.judged, verdict::flaky);
  EXPECT_TRUE(contains(a.why, "11 of 20 trials where 0.5 was stated")) << a.why;
  EXPECT_TRUE(contains(a.why, "two threads race")) << a.why;
}

TEST(judge, the_order_of_racing_trials_does_not_matter) {
  const auto e = races(0.5);
  auto seen = mixture(10, 10);
  std::reverse(seen.begin(), seen.end());
  std::swap(seen[0], seen[15]);
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::flaky);
}

TEST(judge, a_rate_that_moved_beyond_chance_is_changed) {
  const auto e = races(0.5);
  const auto a = judged_arm(fault, mixture(19, 1), &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(a.why.starts_with("rate moved: 19 of 20 trials")) << a.why;
  EXPECT_EQ(judged_arm(fault, mixture(1, 19), &e).judged, verdict::changed);
}

TEST(judge, the_edge_of_chance_is_one_in_a_thousand) {
  // Of 20 trials at one half, twice P(X <= 3) is 0.0026 and twice P(X <= 2) is 0.0004.
  const auto e = races(0.5);
  EXPECT_EQ(judged_arm(fault, mixture(3, 17), &e).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(2, 18), &e).judged, verdict::changed);
}

TEST(judge, a_rate_of_nought_or_one_allows_no_exception) {
  const auto always = races(1);
  EXPECT_EQ(judged_arm(fault, mixture(5, 0), &always).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(4, 1), &always).judged, verdict::changed);
  const auto never = races(0);
  EXPECT_EQ(judged_arm(fault, mixture(0, 5), &never).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(1, 4), &never).judged, verdict::changed);
}

TEST(judge, a_signature_outside_a_stated_race_is_changed_or_worsened) {
  const auto e = races(0.5);
  auto seen = mixture(10, 9);
  seen.push_back(trial({internal}));
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::changed);
  seen.back() = crash({success});
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::worsened);
}

TEST(judge, a_crash_outside_a_race_wins_over_another_status_outside_it) {
  const auto e = races(0.5);
  EXPECT_EQ(judged_arm(fault, {trial({internal}), crash({success})}, &e).judged, verdict::worsened);
}

// Cases.

class judge_case : public in_directory {
 protected:
  case_result judged_case(std::vector<arm_result> arms) {
    expectation_set set;
    set.put(expects({trial({success, right})}, "control"));
    set.put(expects({trial({no_memory})}, "fault"));
    set.put(expects({trial({no_memory}, {success, right})}, "trim"));
    case_result c{.name = "memory.leak", .arms = std::move(arms)};
    judge(c, set, {});
    return c;
  }
};

TEST_F(judge_case, with_a_working_control_judges_each_arm_by_its_own_expectation) {
  const auto c = judged_case({arm(control, {trial({success, right})}, "control"),
                              arm(fault, {trial({no_memory})}, "fault"),
                              arm(remedy, {trial({no_memory}, {success, right})}, "trim"),
                              arm(dead_end, {trial({no_memory}, {no_memory})}, "wait")});
  EXPECT_EQ(c.arms[0].judged, verdict::ok);
  EXPECT_EQ(c.arms[1].judged, verdict::reproduced);
  EXPECT_EQ(c.arms[2].judged, verdict::cleared);
  EXPECT_EQ(c.arms[3].judged, verdict::uncharted);
}

TEST_F(judge_case, with_a_failing_control_is_unresolved_throughout) {
  const auto c = judged_case(
      {arm(fault, {trial({no_memory})}, "fault"), arm(control, {trial({no_memory})}, "control"),
       arm(remedy, {harness_failed("garbled")}, "trim"), arm(dead_end, {not_provoked("no GPU")}, "wait")});
  for (const auto& a : c.arms) EXPECT_EQ(a.judged, verdict::unresolved) << a.name;
  EXPECT_EQ(c.arms[0].why, "control control failed: without a working control a failure proves nothing");
  EXPECT_TRUE(c.arms[1].why.starts_with("control failed: ")) << c.arms[1].why;
  EXPECT_EQ(c.arms[2].why, "harness failed: garbled");
  EXPECT_TRUE(c.arms[0].covered);
}

TEST_F(judge_case, with_a_control_that_was_not_provoked_keeps_only_arms_that_needed_no_context) {
  auto on_the_host = trial({no_memory});
  on_the_host.context = "none";
  const auto host =
      judged_case({arm(control, {not_provoked("no GPU")}, "control"), arm(fault, {on_the_host}, "fault")});
  EXPECT_EQ(host.arms[0].judged, verdict::not_provoked);
  EXPECT_NE(host.arms[1].judged, verdict::not_provoked);
  const auto on_gpu = judged_case(
      {arm(control, {not_provoked("memory moved")}, "control"), arm(fault, {trial({no_memory})}, "fault")});
  EXPECT_EQ(on_gpu.arms[1].judged, verdict::not_provoked);
  EXPECT_EQ(on_gpu.arms[1].why, "control control could not run");
}

TEST_F(judge_case, does_not_say_that_a_remedy_cleared_what_did_not_fail) {
  auto in_place = arm(remedy, {trial({}, {success, right})}, "setting");
  in_place.against = "fault";
  const auto with = judged_case({arm(control, {trial({success, right})}, "control"),
                                 arm(fault, {trial({no_memory})}, "fault"), in_place});
  EXPECT_EQ(with.arms[2].judged, verdict::uncharted);
  const auto without = judged_case({arm(control, {trial({success, right})}, "control"),
                                    arm(fault, {trial({success, right})}, "fault"), in_place});
  EXPECT_EQ(without.arms[2].judged, verdict::not_provoked);
  EXPECT_EQ(judged_case({arm(control, {trial({success, right})}, "control"), in_place}).arms[1].judged,
            verdict::not_provoked);
}

TEST(judge, a_remedy_before_which_nothing_failed_was_not_provoked) {
  auto a = arm(remedy, {trial({success}, {success, right})});
  judge(a, nullptr);
  EXPECT_EQ(a.judged, verdict::not_provoked);
  EXPECT_EQ(judged(remedy, {trial({success}, {success, right})}, {trial({success}, {success, right})}),
            verdict::not_provoked);
}

TEST(judge, a_crash_is_not_hidden_by_another_trial_that_was_not_provoked) {
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {crash({}), not_provoked("memory moved")}),
            verdict::worsened);
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {trial({no_memory}), not_provoked("memory moved")}),
            verdict::not_provoked);
}

// Exit codes.

int run_code(const std::vector<verdict>& verdicts, run_mode mode, int budget = 0, bool covered = true) {
  std::vector<case_result> cases;
  for (const auto v : verdicts) {
    auto a = arm(fault, {});
    a.judged = v;
    a.covered = covered;
    cases.push_back({.name = "c", .arms = {a}});
  }
  return exit_code(cases, mode, budget);
}

TEST(exit_code, is_0_where_all_went_as_expected) {
  for (const auto v :
       {verdict::ok, verdict::reproduced, verdict::cleared, verdict::still_fails, verdict::flaky}) {
    EXPECT_EQ(run_code({v}, run_mode::observe), 0) << to_string(v);
    EXPECT_EQ(run_code({v}, run_mode::gate), 0) << to_string(v);
  }
}

TEST(exit_code, is_1_in_gate_mode_only_for_what_was_not_expected) {
  for (const auto v :
       {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken, verdict::uncharted}) {
    EXPECT_EQ(run_code({verdict::ok, v}, run_mode::observe), 0) << to_string(v);
    EXPECT_EQ(run_code({verdict::ok, v}, run_mode::gate), 1) << to_string(v);
  }
}

TEST(exit_code, is_2_where_an_arm_is_unresolved_whatever_the_others) {
  for (const auto mode : {run_mode::observe, run_mode::gate}) {
    EXPECT_EQ(run_code({verdict::ok, verdict::unresolved}, mode), 2);
    EXPECT_EQ(run_code({verdict::worsened, verdict::unresolved, verdict::not_provoked}, mode), 2);
  }
}

TEST(exit_code, is_2_where_nothing_ran) {
  EXPECT_EQ(run_code({}, run_mode::observe), 2);
  const std::vector<case_result> empty_case(1);
  EXPECT_EQ(exit_code(empty_case, run_mode::gate, 0), 2);
}

TEST(exit_code, is_77_where_no_arm_was_provoked) {
  EXPECT_EQ(run_code({verdict::not_provoked, verdict::not_provoked}, run_mode::observe), 77);
  EXPECT_EQ(run_code({verdict::not_provoked, verdict::ok}, run_mode::observe), 0);
  EXPECT_EQ(run_code({verdict::not_provoked}, run_mode::gate, 1), 77);
}

TEST(exit_code, counts_arms_that_were_not_provoked_against_a_budget_in_gate_mode) {
  const std::vector<verdict> two{verdict::not_provoked, verdict::not_provoked, verdict::ok};
  EXPECT_EQ(run_code(two, run_mode::gate, 1), 1);
  EXPECT_EQ(run_code(two, run_mode::gate, 2), 0);
  EXPECT_EQ(run_code(two, run_mode::observe, 1), 0);
  EXPECT_EQ(run_code(two, run_mode::gate, 0, false), 0);  // nobody ever saw them provoked here
}

TEST(verdict, has_a_name_of_its_own) {
  std::set<std::string> names;
  const std::vector<verdict> all{verdict::ok,          verdict::reproduced,   verdict::cleared,
                                 verdict::still_fails, verdict::flaky,        verdict::changed,
                                 verdict::gone,        verdict::worsened,     verdict::remedy_broken,
                                 verdict::uncharted,   verdict::not_provoked, verdict::unresolved};
  for (const auto v : all) names.insert(to_string(v));
  EXPECT_EQ(names.size(), all.size());
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(verdict::remedy_broken), "REMEDY_BROKEN");
  EXPECT_EQ(to_string(run_mode::observe), "observe");
  EXPECT_EQ(to_string(run_mode::gate), "gate");
}

}  // namespace
}  // namespace cufault
