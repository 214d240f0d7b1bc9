// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/counterparts.hpp"

#include "reports/model/tests/examples.hpp"
#include "reports/printers/causes.hpp"
#include "reports/printers/render.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

record with_arms(std::vector<arm_result> arms, std::string cublas = "13.1.0") {
  record r;
  r.started = "2026-11-21T07:27:40Z";
  *r.stack = {{"keys", {{"cublas", std::move(cublas)}}}};
  r.complete = true;
  r.cases = {{.name = "memory.create", .arms = std::move(arms)}};
  return r;
}

arm_result natural(std::vector<observation> trials) {
  return arm(arm_kind::fault, std::move(trials), "held");
}
arm_result counterpart(std::vector<observation> trials) {
  auto a = arm(arm_kind::fault, std::move(trials), "held_injected");
  a.counterpart_of = "held";
  return a;
}

/// Of the one pair that there is, on the one stack.
counterpart_comparison compared(std::vector<arm_result> arms) {
  const auto all = compare_counterparts({with_arms(std::move(arms))});
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? counterpart_comparison{} : all.front();
}

TEST(counterparts, agree_where_the_natural_arm_and_the_injected_one_come_to_the_same) {
  const auto both = compared({natural({trial({no_memory})}), counterpart({trial({no_memory})})});
  EXPECT_EQ(both.of, (counterpart_pair{"memory.create", "held", "held_injected"}));
  EXPECT_EQ(both.stack, "cuBLAS 13.1.0");
  EXPECT_EQ(both.verdict, "agrees");
  EXPECT_THAT(both.differences, IsEmpty());
}

TEST(counterparts, show_nothing_where_neither_fails) {
  EXPECT_EQ(compared({natural({trial({success, right})}), counterpart({trial({success, right})})}).verdict,
            "nothing fails");
  EXPECT_EQ(compared({natural({trial({success, right})}), counterpart({trial({no_memory, right})})}).verdict,
            "differs");
}

TEST(counterparts, of_arms_without_a_gpu_may_have_a_context) {
  auto without = trial({no_memory}), damaged = trial({no_memory});
  without.context = "none";
  damaged.context = "damaged";
  EXPECT_EQ(compared({natural({without}), counterpart({trial({no_memory})})}).verdict, "agrees");
  EXPECT_EQ(compared({natural({without}), counterpart({trial({internal})})}).verdict, "differs");
  EXPECT_EQ(compared({natural({trial({no_memory})}), counterpart({damaged})}).verdict, "differs");
}

TEST(counterparts, differ_in_steps_that_are_told) {
  const auto both =
      compared({natural({trial({success, internal})}), counterpart({trial({success, no_memory})})});
  EXPECT_EQ(both.verdict, "differs");
  EXPECT_THAT(both.differences, ElementsAre("cublasCreate: INTERNAL_ERROR → ALLOC_FAILED"));
}

TEST(counterparts, differ_in_the_first_step_of_other_calls_or_in_the_context) {
  const auto stopped = compared({natural({trial({no_memory})}), counterpart({trial({success, success})})});
  EXPECT_EQ(stopped.verdict, "differs");
  EXPECT_THAT(stopped.differences, ElementsAre("cublasCreate: ALLOC_FAILED → SUCCESS"));
  auto damaged = trial({no_memory});
  damaged.context = "damaged";
  const auto left = compared({natural({damaged}), counterpart({trial({no_memory})})});
  EXPECT_EQ(left.verdict, "differs");
  EXPECT_THAT(left.differences, ElementsAre("context: damaged → usable"));
}

TEST(counterparts, are_compared_level_by_level_without_the_refined_ones) {
  auto refined = at_level(3, trial({no_memory}));
  refined.refined = true;
  const auto both = compared({natural({at_level(0, trial({internal})), at_level(2, trial({internal})),
                                       refined, at_level(8, trial({success}))}),
                              counterpart({at_level(0, trial({no_memory})), at_level(2, trial({no_memory})),
                                           at_level(8, trial({success})), at_level(9, trial({success}))})});
  EXPECT_EQ(both.verdict, "differs");
  EXPECT_THAT(both.differences, ElementsAre("levels 0, 2: cublasCreate: INTERNAL_ERROR → ALLOC_FAILED",
                                            "level 9: the natural arm has no such level"));
  EXPECT_EQ(compared({natural({at_level(0, trial({no_memory})), refined}),
                      counterpart({at_level(0, trial({no_memory}))})})
                .verdict,
            "agrees");
}

TEST(counterparts, that_race_agree_where_they_share_a_signature) {
  auto racing = natural({trial({no_memory}), trial({internal})});
  racing.races = "chance";
  EXPECT_EQ(compared({racing, counterpart({trial({internal})})}).verdict, "agrees");
  const auto both = compared({racing, counterpart({trial({success})})});
  EXPECT_EQ(both.verdict, "differs");
  EXPECT_THAT(both.differences, ElementsAre(HasSubstr(" → cublasCreate: SUCCESS")));
}

TEST(counterparts, are_not_measured_where_one_of_the_two_was_not_observed) {
  const auto no_natural = compared({counterpart({trial({no_memory})})});
  EXPECT_EQ(no_natural.verdict, "not measured yet");
  EXPECT_THAT(no_natural.differences, ElementsAre("held was not run"));
  const auto no_counterpart = compared({natural({trial({no_memory})}), counterpart({})});
  EXPECT_EQ(no_counterpart.verdict, "not measured yet");
  EXPECT_THAT(no_counterpart.differences, ElementsAre("held_injected was not run"));
  const auto no_gpu =
      compared({natural({trial({no_memory})}), counterpart({examples::not_provoked("no GPU")})});
  EXPECT_EQ(no_gpu.verdict, "not measured yet");
  EXPECT_THAT(no_gpu.differences, ElementsAre("held_injected: no GPU"));
}

TEST(counterparts, prove_nothing_without_a_working_control) {
  auto control = arm(arm_kind::control, {trial({no_memory})}, "control");
  control.judged = verdict::unresolved;
  const auto both = compared({control, natural({trial({no_memory})}), counterpart({trial({no_memory})})});
  EXPECT_EQ(both.verdict, "not measured yet");
  EXPECT_THAT(both.differences, ElementsAre("without a working control nothing is proved"));
}

TEST(counterparts, are_joined_with_a_natural_arm_of_another_record_of_the_same_stack) {
  const auto all = compare_counterparts({with_arms({natural({trial({no_memory})})}),
                                         with_arms({counterpart({trial({no_memory})})}),
                                         with_arms({natural({trial({no_memory})})}, "12.0.1")});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stack, "cuBLAS 13.1.0");
  EXPECT_EQ(all[0].verdict, "agrees");
}

TEST(counterparts, that_no_record_has_are_said_to_be_missing) {
  const std::vector<counterpart_pair> known{{"memory.create", "held", "held_injected"}};
  const auto all = compare_counterparts({with_arms({natural({trial({no_memory})})})}, known);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stack, "");
  EXPECT_EQ(all[0].verdict, "not measured yet");
  EXPECT_EQ(compare_counterparts(
                {with_arms({natural({trial({no_memory})}), counterpart({trial({no_memory})})})}, known)
                .size(),
            1U);
}

TEST(counterparts, make_a_table) {
  const auto all =
      compare_counterparts({with_arms({natural({trial({internal})}), counterpart({trial({no_memory})})})});
  std::ostringstream text, markdown, none;
  print_counterparts(text, all, table_style::text);
  EXPECT_EQ(text.str(),
            "case           natural arm  injected counterpart  agrees?  stack\n"
            "memory.create  held         held_injected         differs  cuBLAS 13.1.0\n"
            "                                                             cublasCreate: INTERNAL_ERROR → "
            "ALLOC_FAILED\n"
            "\n"
            "1 comparison: 1 differs\n");
  print_counterparts(markdown, all, table_style::markdown);
  EXPECT_THAT(markdown.str(), HasSubstr("| stack | where it differs: natural arm → counterpart |\n"));
  EXPECT_THAT(markdown.str(), HasSubstr("| memory.create | held | held_injected | differs | cuBLAS 13.1.0 | "
                                        "cublasCreate: INTERNAL_ERROR → ALLOC_FAILED |\n"));
  print_counterparts(none, {}, table_style::text);
  EXPECT_EQ(none.str(), "0 comparisons: no arm has an injected counterpart\n");
}

TEST(counterparts, say_nothing_of_claims_and_are_no_cause_of_a_status) {
  auto of_natural = counterpart({trial({no_memory})});
  of_natural.claims = {"S0-1"};
  const auto only_counterpart = with_arms({of_natural});
  const claim what{.id = "S0-1", .kind = claim_kind::failure, .text = "", .status = no_memory};
  EXPECT_EQ(judge_claims({what}, std::vector{only_counterpart}).front().verdict, "not measured yet");
  of_natural.counterpart_of.clear();
  EXPECT_EQ(judge_claims({what}, std::vector{with_arms({of_natural})}).front().verdict, "confirmed");
  std::ostringstream out;
  print_causes(out, no_memory, std::vector{only_counterpart}, table_style::text);
  EXPECT_THAT(out.str(), HasSubstr("no call of a fault arm"));
}

}  // namespace
}  // namespace cufault
