// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of single arms.
#include "reports/judge/tests/judged.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace cufault {
namespace {

using namespace examples;

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

TEST(judge, a_control_that_fails_is_unresolved_recorded_or_not) {
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

TEST(judge, an_arm_of_every_kind_that_nobody_recorded_is_new) {
  for (const auto kind : {control, fault, remedy, dead_end}) {
    const auto a = judged_arm(kind, {trial({success})});
    EXPECT_EQ(a.judged, verdict::unrecorded);
    EXPECT_FALSE(a.covered);
    EXPECT_EQ(a.expectation, "");
    EXPECT_EQ(a.why, "no recorded stack has it");
  }
}

TEST(judge, an_arm_names_the_line_that_it_was_judged_by) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({no_memory})}, &e);
  EXPECT_TRUE(a.covered);
  EXPECT_EQ(a.expectation, "memory.jsonl:4");
  EXPECT_EQ(a.why, "");
}

TEST(judge, a_remedy_before_which_nothing_failed_was_not_provoked) {
  auto a = arm(remedy, {trial({success}, {success, right})});
  judge(a, nullptr);
  EXPECT_EQ(a.judged, verdict::not_provoked);
  EXPECT_EQ(judged(remedy, {trial({success}, {success, right})}, {trial({success}, {success, right})}),
            verdict::not_provoked);
}

/// A trial whose operation could not be prepared, before the remedy or after it.
observation unprepared(bool after) {
  observation o = trial({no_memory}, {});
  o.calls.push_back(call("check.preparation", "FAILED", after));
  if (!after) {
    o.calls.erase(o.calls.begin());
    o.applied.clear();
  }
  return o;
}

TEST(judge, a_remedy_whose_operation_could_not_be_prepared_was_not_provoked) {
  for (const bool after : {true, false})
    for (const arm_kind kind : {remedy, dead_end, arm_kind::diagnosis}) {
      const trials seen{unprepared(after)};
      const auto e = expects(seen);
      const auto a = judged_arm(kind, seen, &e);
      EXPECT_EQ(a.judged, verdict::not_provoked);
      EXPECT_THAT(a.why, testing::StartsWith("the operation could not be prepared"));
      EXPECT_FALSE(a.covered) << "it shows what is expected, and a gate misses nothing";
      EXPECT_EQ(judged_arm(kind, seen).judged, verdict::not_provoked) << "recorded or not";
    }
  EXPECT_EQ(judged(fault, {unprepared(false)}, {unprepared(false)}), verdict::reproduced);
  const auto cleared = expects({trial({no_memory}, {success, right})});
  EXPECT_NE(judged_arm(remedy, {unprepared(true)}, &cleared).judged, verdict::not_provoked)
      << "it could be, before";
  auto of_the_remedy = unprepared(true);
  of_the_remedy.calls.back().what.name.variant = "of_the_remedy";
  EXPECT_EQ(judged(remedy, {of_the_remedy}, {of_the_remedy}), verdict::still_fails) << "the remedy failed";
}

TEST(judge, a_diagnosis_is_named_by_whether_a_call_fails) {
  constexpr auto diagnosis = arm_kind::diagnosis;
  EXPECT_EQ(judged(diagnosis, {trial({internal})}, {trial({internal})}), verdict::diagnosed);
  EXPECT_EQ(judged(diagnosis, {trial({success})}, {trial({success})}), verdict::ok);
  EXPECT_EQ(judged(diagnosis, {trial({internal})}, {trial({no_memory})}), verdict::changed);
  EXPECT_EQ(judged(diagnosis, {trial({internal})}, {trial({success})}), verdict::gone);
  EXPECT_EQ(judged(diagnosis, {trial({success})}, {trial({internal})}), verdict::changed);
  EXPECT_EQ(judged_arm(diagnosis, {trial({internal})}).judged, verdict::unrecorded);
}

TEST(judge, a_remedy_before_which_the_process_ended_was_not_provoked) {
  const trials crashed{crash({success})};
  const auto e = expects(crashed);
  EXPECT_EQ(judged_arm(remedy, crashed, &e).judged, verdict::not_provoked);
  EXPECT_TRUE(
      judged_arm(dead_end, crashed).why.starts_with("the process ended before the remedy was applied: "));
  const auto cleared = expects({trial({no_memory}, {success})});
  EXPECT_EQ(judged_arm(remedy, crashed, &cleared).judged, verdict::worsened) << "it was reached before";

  auto in_place = arm(remedy, crashed);
  in_place.against = "fault";
  judge_as(in_place, e);
  EXPECT_EQ(in_place.judged, verdict::still_fails);
  EXPECT_EQ(judged_arm(fault, crashed, &e).judged, verdict::reproduced);
  auto applied = crash({success});
  applied.applied = "try again";
  EXPECT_NE(judged_arm(remedy, {applied}).judged, verdict::not_provoked);
}

TEST(judge, a_crash_is_not_hidden_by_another_trial_that_was_not_provoked) {
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {crash({}), not_provoked("memory moved")}),
            verdict::worsened);
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {trial({no_memory}), not_provoked("memory moved")}),
            verdict::not_provoked);
  EXPECT_EQ(judged(fault, {trial({success})}, {crash({}), not_provoked("memory moved")}), verdict::worsened);
  EXPECT_EQ(judged(fault, {crash({})}, {crash({no_memory}), not_provoked("memory moved")}),
            verdict::not_provoked)
      << "a crash is recorded";
}

TEST(judge, time_that_ran_out_between_calls_is_unresolved) {
  auto late = trial({no_memory});
  late.ended = outcome::timed_out;
  late.context = "unchecked";
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {late}), verdict::unresolved);
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {trial({no_memory}), late}), verdict::unresolved);
}

// Not as expected.

TEST(judge, another_status_is_changed) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({internal})}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "cublasCreate: ALLOC_FAILED → INTERNAL_ERROR");
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
  EXPECT_EQ(judged(fault, {hang({})}, {crash({})}), verdict::changed);
}

TEST(judge, what_nobody_sees_is_worse_than_a_crash) {
  EXPECT_EQ(judged(fault, {crash({success})}, {trial({wrong})}), verdict::worsened);
  EXPECT_EQ(judged(fault, {trial({wrong})}, {crash({success})}), verdict::changed);
}

TEST(judge, says_what_a_user_loses) {
  auto damaged = trial({no_memory});
  damaged.context = "damaged";
  auto written = trial({no_memory});
  written.calls[0].what.facts["written_beyond"] = std::int64_t{8};
  const std::vector<std::pair<observation, loss>> outcomes{{trial({success, wrong}), loss::wrong_numbers},
                                                           {written, loss::memory_written},
                                                           {crash({}), loss::crash},
                                                           {hang({}), loss::hang},
                                                           {damaged, loss::context},
                                                           {trial({internal}), loss::status}};
  const arm_result shown = expects({trial({no_memory})});
  for (const auto& [seen, lost] : outcomes)
    EXPECT_EQ(judged_arm(fault, {seen}, &shown).lost, lost) << describe(signature_of(seen));
  EXPECT_EQ(judged_arm(fault, {trial({success})}, &shown).lost, loss::value);
  auto another = damaged;
  another.calls[0].what.status = internal;
  const arm_result lost_before = expects({damaged});
  EXPECT_EQ(judged_arm(fault, {another}, &lost_before).lost, loss::status);
}

TEST(judge, undefined_behaviour_is_changed_where_other_arms_are_worsened) {
  arm_result shown = expects({trial({success})});
  for (const bool undefined : {false, true}) {
    shown.undefined = undefined;
    const arm_result a = judged_arm(fault, {crash({})}, &shown);
    EXPECT_EQ(a.judged, undefined ? verdict::changed : verdict::worsened);
    EXPECT_EQ(a.lost, undefined ? loss::undefined_behaviour : loss::crash);
    EXPECT_EQ(a.why.find("undefined behaviour") != std::string::npos, undefined) << a.why;
    EXPECT_EQ(judged_arm(fault, {trial({success})}, &shown).why, "") << "as before";
  }
  EXPECT_EQ(judged_arm(fault, {trial({success})}).judged, verdict::unrecorded);
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
  for (int i = 0; i < 20; ++i) {
    before.calls.push_back(call("cublasCreate", success));
    before.calls.back().what.name.variant = std::to_string(i);
  }
  auto after = before;
  const auto fails = [&](std::size_t i) {
    after.calls[i].what = step_of("cublasCreate", no_memory);
    after.calls[i].what.name = before.calls[i].what.name;
  };
  fails(7);
  const auto e = expects({before});
  EXPECT_EQ(judged_arm(fault, {after}, &e).why, "cublasCreate 7: SUCCESS → ALLOC_FAILED");
  for (std::size_t i = 8; i < 14; ++i) fails(i);
  EXPECT_TRUE(judged_arm(fault, {after}, &e).why.ends_with("; and 2 more"));
}

TEST(judge, where_calls_differ_it_is_told_what_became_of_the_context) {
  auto after = trial({success, no_memory});
  after.context = "damaged";
  const auto e = expects({trial({success, internal})});
  EXPECT_EQ(judged_arm(fault, {after}, &e).why,
            "cublasCreate: INTERNAL_ERROR → ALLOC_FAILED; context: usable → damaged");
}

}  // namespace
}  // namespace cufault
