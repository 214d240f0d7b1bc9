// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of the arms of a case, which depend on its control.
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

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

}  // namespace
}  // namespace cufault
