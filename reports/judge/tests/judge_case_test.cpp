// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of the arms of a case, which depend on its control, and what a verdict says beside its name. Verdicts of single arms: reports/answers/tests/verdicts.txt.
#include "reports/evidence/tests/recorded_stacks.hpp"
#include "reports/judge/remedy_outcome.hpp"
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

class judge_case : public recorded_stacks {
 protected:
  /// By what one stack showed.
  case_result judged_by(std::vector<arm_result> shown, case_result c) {
    record_arms(keys("13.1.0"), std::move(shown), "H200", "recorded", c.name);
    judge(c, recorded(), keys("13.1.0"));
    return c;
  }
  case_result judged_case(std::vector<arm_result> arms) {
    return judged_by({expects({trial({success, right})}, "control"), expects({trial({no_memory})}, "fault"),
                      expects({trial({no_memory}, {success, right})}, "trim")},
                     {.name = "memory.leak", .arms = std::move(arms)});
  }
};

TEST_F(judge_case, with_a_working_control_judges_each_arm_by_its_own_line) {
  const auto c = judged_case({arm(control, {trial({success, right})}, "control"),
                              arm(fault, {trial({no_memory})}, "fault"),
                              arm(remedy, {trial({no_memory}, {success, right})}, "trim"),
                              arm(dead_end, {trial({no_memory}, {no_memory})}, "wait")});
  EXPECT_EQ(c.arms[0].judged, verdict::ok);
  EXPECT_EQ(c.arms[1].judged, verdict::reproduced);
  EXPECT_EQ(c.arms[2].judged, verdict::cleared);
  EXPECT_EQ(c.arms[3].judged, verdict::unrecorded);
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

TEST_F(judge_case, does_not_miss_a_remedy_whose_failure_did_not_come) {
  const std::string missed = "1 arm recorded on this stack NOT_PROVOKED, and --not-provoked-budget is 0";
  const auto reasons_where = [&](arm_result shown) {
    arm_result setting = arm(remedy, {trial({}, {success, right})}, "setting"),
               known = expects(setting.trials, "setting");
    setting.against = known.against = "fault";
    known.kind = remedy;
    const case_result c = judged_by(
        {expects({trial({success, right})}, "control"), expects({trial({no_memory})}, "fault"), known},
        {.name = "memory.leak",
         .arms = {arm(control, {trial({success, right})}, "control"), std::move(shown), setting}});
    EXPECT_EQ(c.arms[2].judged, verdict::not_provoked);
    std::vector<std::string> all;
    for (const exit_reason& reason : exit_reasons(std::vector{c}, run_mode::gate, 0))
      all.push_back(reason.why);
    return all;
  };
  EXPECT_EQ(reasons_where(arm(fault, {trial({success, right})}, "fault")),
            std::vector<std::string>{"1 arm GONE"});
  EXPECT_EQ(reasons_where(arm(fault, {not_provoked("too little memory")}, "fault")), std::vector{missed})
      << "the fault";
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
  EXPECT_EQ(with.arms[2].judged, verdict::unrecorded);
  const auto without = judged_case({arm(control, {trial({success, right})}, "control"),
                                    arm(fault, {trial({success, right})}, "fault"), in_place});
  EXPECT_EQ(without.arms[2].judged, verdict::not_provoked);
  EXPECT_EQ(judged_case({arm(control, {trial({success, right})}, "control"), in_place}).arms[1].judged,
            verdict::not_provoked);
}

TEST_F(judge_case, says_of_a_diagnosis_that_names_a_known_call_that_it_still_fails) {
  const auto judged_with = [&](const char* api) {
    observation seen;
    seen.ended = outcome::completed;
    seen.context = "damaged";
    seen.calls = {call(api, internal)};
    auto named = arm(arm_kind::diagnosis, {seen}, "blocking");
    named.against = "fault";
    const auto c = judged_by({expects({trial({success, right})}, "control"),
                              expects({trial({no_memory})}, "fault"), expects({seen}, "blocking")},
                             {.name = "memory.leak",
                              .arms = {arm(control, {trial({success, right})}, "control"),
                                       arm(fault, {trial({no_memory})}, "fault"), named}});
    return c.arms.back();
  };
  EXPECT_EQ(judged_with("cudaLaunchKernelExC").judged, verdict::diagnosed);
  const auto same = judged_with(trial({no_memory}).calls[0].what.name.api.c_str());
  EXPECT_EQ(same.judged, verdict::still_fails);
  EXPECT_EQ(same.why, "the same call fails without it");
}

/// A step of PyTorch that failed in the call.
call_record framework_step(const char* named_call, bool after = false) {
  call_record c = call("torch.nn.Linear", no_memory, after);
  c.what.facts = {{"named_call", std::string(named_call)}};
  return c;
}

TEST_F(judge_case, says_nothing_of_a_remedy_that_acts_on_what_follows_a_call_that_failed) {
  const auto judged_with = [&](const std::string& name, const char* named_call) {
    observation seen;
    seen.ended = outcome::completed;
    seen.context = "usable";
    seen.applied = "less memory";
    seen.calls = {framework_step("cublasCreate"), framework_step(named_call, true)};
    const auto c = judged_by({expects({seen}, name)},
                             {.name = "pytorch.live_tensors", .arms = {arm(remedy, {seen}, name)}});
    return c.arms.front();
  };
  const auto not_reached = judged_with("training_step.64+checkpointing", "cublasCreate");
  EXPECT_EQ(not_reached.judged, verdict::not_provoked);
  EXPECT_EQ(not_reached.why, "cublasCreate failed, and the remedy acts on what follows it");
  EXPECT_FALSE(not_reached.covered);
  EXPECT_EQ(judged_with("training_step.64+checkpointing", "cublasSgemm").judged, verdict::still_fails);
  EXPECT_EQ(judged_with("matmul.8+empty_cache", "cublasCreate").judged, verdict::still_fails)
      << "it acts on memory";
  EXPECT_EQ(judged_with("matmul.8+to_device", "cublasCreate").judged, verdict::still_fails)
      << "it is said to help where cublasCreate fails";
}

TEST_F(judge_case, does_not_hide_a_remedy_that_no_longer_reaches_what_it_acts_on) {
  observation cleared, seen;
  for (observation* o : {&cleared, &seen}) {
    o->ended = outcome::completed;
    o->context = "usable";
    o->applied = "less memory";
  }
  cleared.calls = {framework_step("cublasSgemm"), call("torch.nn.Linear", success, true)};
  seen.calls = {framework_step("cublasCreate"), framework_step("cublasCreate", true)};
  const std::string name = "training_step.64+checkpointing";
  const auto c = judged_by({expects({cleared}, name)},
                           {.name = "pytorch.live_tensors", .arms = {arm(remedy, {seen}, name)}});
  EXPECT_FALSE(as_expected(c.arms.front().judged)) << c.arms.front().why;
  EXPECT_NE(c.arms.front().judged, verdict::not_provoked);
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

TEST(judge, says_of_undefined_behaviour_that_it_is_that) {
  arm_result shown = expects({trial({success})});
  EXPECT_EQ(judged_arm(fault, {crash({})}, &shown).lost, loss::crash);
  shown.undefined = true;
  EXPECT_EQ(judged_arm(fault, {crash({})}, &shown).lost, loss::undefined_behaviour);
}

TEST(judge, an_arm_names_the_line_that_it_was_judged_by) {
  const auto e = expects({trial({no_memory})});
  const auto a = judged_arm(fault, {trial({no_memory})}, &e);
  EXPECT_TRUE(a.covered);
  EXPECT_EQ(a.expectation, "memory.jsonl:4");
  EXPECT_EQ(a.why, "");
}

TEST(shows_nothing, an_arm_whose_fault_is_never_there) {
  const auto a = arm(remedy, {trial({success, right})}, "smaller_buffers_lazy");
  EXPECT_NE(why_it_shows_nothing("memory.create_under_pressure", a), "");
  EXPECT_EQ(why_it_shows_nothing("memory.first_product", a), "");
  const auto failing = arm(remedy, {trial({no_memory})}, "smaller_buffers_lazy");
  EXPECT_EQ(why_it_shows_nothing("memory.create_under_pressure", failing), "");
}

}  // namespace
}  // namespace cufault
