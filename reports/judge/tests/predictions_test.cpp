// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of arms that no record of this stack judges, and what a gate says of them.
#include "reports/evidence/tests/recorded_stacks.hpp"
#include "reports/judge/leave_one_out.hpp"
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

class predictions_of_arms : public recorded_stacks {
 protected:
  /// As memory.leak of one stack with the arms of which each showed one status.
  using shown_arms = std::vector<std::pair<const char*, const char*>>;
  void shows(const std::string& cublas, const shown_arms& arms, bool any_architecture = false) const {
    std::vector<arm_result> all;
    for (const auto& [name, status] : arms) {
      all.push_back(expects({trial({status})}, name));
      all.back().any_architecture = any_architecture;
    }
    record_arms(keys(cublas), std::move(all));
  }
  [[nodiscard]] case_result judged_on(const stack_keys& here, const shown_arms& arms) const {
    case_result c{.name = "memory.leak"};
    for (const auto& [name, status] : arms) c.arms.push_back(arm(fault, {trial({status})}, name));
    judge(c, recorded(), here);
    return c;
  }
  [[nodiscard]] arm_result judged_on(const stack_keys& here, const char* status) const {
    return judged_on(here, {{"a", status}}).arms[0];
  }
};

TEST_F(predictions_of_arms, come_true_as_on_the_stacks_below_and_above) {
  shows("13.1.0", {{"a", no_memory}});
  shows("13.5.0", {{"a", no_memory}});
  const auto a = judged_on(keys("13.2.0"), no_memory);
  EXPECT_EQ(a.judged, verdict::as_predicted);
  EXPECT_EQ(a.why, "REPRODUCED, as on H200, cuBLAS 13.1.0 and on H200, cuBLAS 13.5.0");
  EXPECT_EQ(a.compared_with, "H200, cuBLAS 13.1.0");
  EXPECT_FALSE(a.covered);
  EXPECT_EQ(a.expectation, "") << "it is no judgement";
}

TEST_F(predictions_of_arms, that_hold_for_one_of_both_say_that_the_change_lies_between) {
  shows("13.1.0", {{"a", no_memory}});
  shows("13.5.0", {{"a", internal}});
  EXPECT_EQ(
      judged_on(keys("13.2.0"), no_memory).why,
      "REPRODUCED, as on H200, cuBLAS 13.1.0, and not as on H200, cuBLAS 13.5.0: the change lies between");
  const auto above = judged_on(keys("13.2.0"), internal);
  EXPECT_EQ(above.judged, verdict::as_predicted);
  EXPECT_EQ(above.compared_with, "H200, cuBLAS 13.5.0");
  EXPECT_EQ(
      above.why,
      "REPRODUCED, as on H200, cuBLAS 13.5.0, and not as on H200, cuBLAS 13.1.0: the change lies between");
}

TEST_F(predictions_of_arms, are_counted_apart_of_arms_that_change) {
  shows("13.1.0", {{"changes", no_memory}, {"stays", internal}});
  shows("13.2.0", {{"changes", internal}, {"stays", internal}});
  shows("13.3.0", {{"changes", internal}, {"stays", internal}});
  const leave_one_out found = judge_by_others(directory / "recorded");
  const auto of_all = found.of_family.at("memory").at(predicted_from::one_version);
  const auto of_changing = found.of_changing.at(predicted_from::one_version);
  EXPECT_EQ(std::pair(of_all.held, of_all.made), std::pair(std::size_t{3}, std::size_t{4}));
  EXPECT_EQ(std::pair(of_changing.held, of_changing.made), std::pair(std::size_t{1}, std::size_t{2}))
      << "of 13.1.0 it does not hold, of 13.3.0 it does";
  EXPECT_EQ(found.of_changing.at(predicted_from::both_differ).made, 1U) << "13.2.0";
}

TEST_F(predictions_of_arms, that_do_not_hold_differ) {
  shows("13.1.0", {{"a", no_memory}});
  const auto one = judged_on(keys("13.2.0", "8.0"), internal);
  EXPECT_EQ(one.judged, verdict::differs);
  EXPECT_EQ(one.compared_with, "H200, cuBLAS 13.1.0");
  EXPECT_EQ(one.why, "on H200, cuBLAS 13.1.0: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR");
  shows("13.5.0", {{"a", success}});
  EXPECT_TRUE(judged_on(keys("13.2.0"), internal).why.ends_with("; nor as on H200, cuBLAS 13.5.0"));
  EXPECT_EQ(judged_on(keys("13.1.0"), internal).judged, verdict::changed) << "on the stack itself";
}

TEST_F(predictions_of_arms, are_not_made_of_what_nobody_recorded_or_nobody_defines) {
  EXPECT_EQ(judged_on(keys("13.1.0"), no_memory).judged, verdict::unrecorded);
  arm_result undefined = expects({trial({no_memory})}, "a");
  undefined.expected = false;
  record_arms(keys("13.1.0"), {undefined});
  for (const char* version : {"13.1.0", "13.2.0"}) {
    const auto a = judged_on(keys(version), internal);
    EXPECT_EQ(a.judged, verdict::undefined) << version;
    EXPECT_EQ(a.why, "it was recorded, and nothing is expected of it: nothing is compared");
  }
  EXPECT_EQ(judged_on(keys("14.0.0"), internal).judged, verdict::unrecorded);
}

TEST_F(predictions_of_arms, say_nothing_of_what_proves_nothing) {
  record_arms(keys("13.1.0"), {expects({trial({no_memory}, {success, right})}, "a")});
  case_result c{.name = "memory.leak",
                .arms = {arm(remedy, {trial({success}, {success, right})}, "a"),
                         arm(fault, {harness_failed("garbled")}, "b")}};
  judge(c, recorded(), keys("13.2.0"));
  EXPECT_EQ(c.arms[0].judged, verdict::not_provoked);
  EXPECT_EQ(c.arms[1].judged, verdict::unresolved);
}

TEST_F(predictions_of_arms, are_counted_in_one_line) {
  EXPECT_EQ(prediction_line({}), "");
  shows("13.1.0", {{"a", no_memory}, {"b", no_memory}, {"c", no_memory}});
  const auto line_on = [&](const stack_keys& here, const shown_arms& arms) {
    return prediction_line(predictions_of(std::vector{judged_on(here, arms)}));
  };
  EXPECT_EQ(line_on(keys("13.1.0"), {{"a", no_memory}}), "") << "judged";
  EXPECT_EQ(line_on(keys("13.2.0"), {{"a", no_memory}}),
            "no record of this stack: 1 of 1 arm as on H200, cuBLAS 13.1.0");
  EXPECT_EQ(line_on(keys("13.2.0"), {{"a", no_memory}, {"b", internal}, {"c", internal}, {"d", internal}}),
            "no record of this stack: 1 of 4 arms as on H200, cuBLAS 13.1.0; 2 differ; 1 new");
  EXPECT_EQ(line_on(keys("14.0.0"), {{"a", no_memory}, {"b", no_memory}}),
            "no record of this stack: 0 of 2 arms as predicted; 2 new");
  EXPECT_EQ(line_on(keys("13.1.0"), {{"a", no_memory}, {"d", internal}}),
            "not in the record of this stack: 0 of 1 arm as predicted; 1 new");
  shows("13.5.0", {{"b", internal}});
  EXPECT_EQ(
      line_on(keys("13.6.0"), {{"a", no_memory}, {"b", internal}, {"c", internal}}),
      "no record of this stack: 2 of 3 arms as on H200, cuBLAS 13.1.0 or the nearest stack that has the "
      "arm; 1 differs");
}

TEST_F(predictions_of_arms, fail_no_gate_that_says_how_to_make_a_baseline) {
  shows("13.1.0", {{"a", no_memory}, {"b", no_memory}});
  const auto reasons_on = [&](const stack_keys& here, const shown_arms& arms,
                              run_mode mode = run_mode::gate) {
    return exit_reasons(std::vector{judged_on(here, arms)}, mode, 0);
  };
  const auto found = reasons_on(keys("13.2.0", "8.0"), {{"a", no_memory}, {"b", internal}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].exit_code, exit_no_baseline);
  EXPECT_EQ(
      found[0].why,
      "no record of this stack: 1 of 2 arms as on H200, cuBLAS 13.1.0; 1 differs; to judge the next run by "
      "this one: cufault baseline add RECORD");
  EXPECT_EQ(exit_code(reasons_on(keys("13.2.0"), {{"a", no_memory}}, run_mode::observe)), 0);
  EXPECT_EQ(exit_code(reasons_on(keys("13.1.0"), {{"a", no_memory}, {"new", internal}})), 0)
      << "there is a record of this stack";
  EXPECT_EQ(exit_code(reasons_on(keys("13.1.0"), {{"a", internal}, {"new", internal}})), 1);
}

// Where nothing ran on a GPU, arms of the host are all that could be judged.
TEST_F(predictions_of_arms, of_the_host_count_where_no_arm_ran_on_a_gpu) {
  shows("13.1.0", {{"host", no_memory}, {"gpu", no_memory}});
  const auto on_the_host = [&](const char* cublas, const shown_arms& arms) {
    case_result c = judged_on(keys(cublas), arms);
    c.arms[0].trials[0].context = "none";
    return std::vector{c};
  };
  const auto exit_of = [](const std::vector<case_result>& cases) {
    return exit_code(exit_reasons(cases, run_mode::gate, 0));
  };
  const auto predicted = on_the_host("13.2.0", {{"host", no_memory}});
  EXPECT_TRUE(is_without_baseline(predicted));
  EXPECT_EQ(exit_of(predicted), exit_no_baseline);
  const auto judged = on_the_host("13.1.0", {{"host", no_memory}});
  EXPECT_FALSE(is_without_baseline(judged));
  EXPECT_EQ(exit_of(judged), 0);

  const auto new_on_the_host = on_the_host("13.1.0", {{"new", no_memory}, {"gpu", no_memory}});
  EXPECT_EQ(new_on_the_host[0].arms[0].judged, verdict::unrecorded);
  EXPECT_EQ(exit_of(new_on_the_host), 0) << "there is a record of this stack";
  const auto new_on_the_gpu = on_the_host("13.1.0", {{"host", no_memory}, {"new", no_memory}});
  EXPECT_TRUE(new_on_the_gpu[0].arms[0].covered);
  EXPECT_EQ(exit_of(new_on_the_gpu), exit_no_baseline) << "what ran on the GPU was not judged";
}

// An arm that no architecture affects is judged on every GPU: that is no record of this stack.
TEST_F(predictions_of_arms, lack_a_baseline_whatever_is_judged_by_records_of_other_gpus) {
  shows("13.1.0", {{"any", no_memory}}, true);
  record_arms(keys("13.1.0"), {expects({trial({no_memory})}, "a")});
  case_result c = judged_on(keys("13.1.0", "8.0"), {{"any", no_memory}, {"a", no_memory}});
  c.arms[0].any_architecture = true;
  EXPECT_EQ(c.arms[0].judged, verdict::reproduced);
  EXPECT_EQ(c.arms[1].judged, verdict::as_predicted);
  EXPECT_TRUE(is_without_baseline(std::vector{c}));
  EXPECT_TRUE(
      prediction_line(predictions_of(std::vector{c})).starts_with("no record of this stack: 1 of 1 arm "));
}

TEST_F(predictions_of_arms, lack_a_baseline_where_an_outcome_is_undefined_elsewhere) {
  arm_result undefined = expects({trial({no_memory})}, "undefined");
  undefined.expected = false;
  record_arms(keys("13.1.0"), {undefined, expects({trial({no_memory})}, "a")});
  const auto c = judged_on(keys("13.1.0", "8.0"), {{"undefined", no_memory}, {"a", no_memory}});
  EXPECT_EQ(c.arms[0].judged, verdict::undefined);
  EXPECT_TRUE(is_without_baseline(std::vector{c}));
}

}  // namespace
}  // namespace cufault
