// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The line of an arm, in the record of a run and in the folder of a stack.
#include "reports/model/arm_line.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

const run_of_trials first_run{
    .commit = "1111111", .dirty = true, .started = "2026-11-21T07:27:40Z", .seed = 1},
    second_run{.commit = "2222222", .started = "2026-11-22T07:27:40Z", .seed = 2};

run_of_trials made(run_of_trials run, std::size_t trials) {
  run.trials = trials;
  return run;
}

/// An arm with no member at its default.
arm_result full_arm() {
  arm_result a = arm(arm_kind::remedy, {trial({no_memory}, {success}), trial({internal}, {success})}, "trim");
  a.summary = "squeeze, then create";
  a.claims = {"S0-5"};
  a.against = "fault";
  a.races = "chance";
  a.rate_depends_on_load = true;
  a.counterpart_of = "natural";
  a.made_up = true;
  a.second_cublas = true;
  a.any_architecture = true;
  a.runs = {made(first_run, 1), made(second_run, 1)};
  a.expected = true;
  return a;
}

TEST(arm_line, reads_back_what_it_was_made_of) {
  std::vector<run_of_trials> runs{second_run};
  const auto line = filed_arm_json("memory.leak", full_arm(), runs);
  EXPECT_EQ(runs, (std::vector{second_run, first_run})) << "those that were lacking are appended";
  const case_result again = filed_arm_from(cursor(line.dump(), "memory.jsonl"), runs);
  EXPECT_EQ(again.name, "memory.leak");
  const arm_result &a = again.arms.at(0), b = full_arm();
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.summary, b.summary);
  EXPECT_EQ(a.claims, b.claims);
  EXPECT_EQ(a.against, b.against);
  EXPECT_EQ(a.races, b.races);
  EXPECT_EQ(a.counterpart_of, b.counterpart_of);
  EXPECT_TRUE(a.rate_depends_on_load && a.made_up && a.second_cublas && a.any_architecture && a.expected);
  EXPECT_EQ(a.runs, b.runs);
  EXPECT_EQ(a.source, "memory.jsonl:1");
  ASSERT_EQ(a.trials.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(signature_of(a.trials[i]), signature_of(b.trials[i]));
  EXPECT_EQ(filed_arm_json("memory.leak", a, runs), line);
}

TEST(arm_line, begins_with_what_people_look_for_and_leaves_defaults_out) {
  std::vector<run_of_trials> runs;
  arm_result a = arm(arm_kind::fault, {trial({success})}, "plain");
  a.trials[0].exit_code = 0;
  a.trials[0].calls[0].last_error = "cudaSuccess";
  a.runs = {made(first_run, 1)};
  const std::string trials =
      R"("kind":"fault","trials":[{"calls":[{"api":"cublasCreate","status":"CUBLAS_STATUS_SUCCESS"}]}]})";
  const std::string saw = R"("saw":"cublasCreate: CUBLAS_STATUS_SUCCESS; context usable",)";
  EXPECT_EQ(filed_arm_json("memory.leak", a, runs).dump(),
            R"({"case":"memory.leak","arm":"plain","expected":false,)" + saw + R"("run":0,)" + trials);
  EXPECT_EQ(arm_json("memory.leak", a).dump(), R"({"case":"memory.leak","arm":"plain",)" + saw + trials);
  runs.clear();
  EXPECT_TRUE(contains(filed_arm_json("memory.leak", full_arm(), runs).dump(),
                       R"("runs":[{"run":0,"trials":1},{"run":1,"trials":1}],"kind":"remedy")"));
  EXPECT_EQ(filed_arm_from(cursor(filed_arm_json("memory.leak", a, runs).dump()), runs).arms[0].runs,
            (std::vector{made(first_run, 1)}));
}

// Such a fact is no part of what is compared.
TEST(arm_line, says_which_of_equal_failures_came_first) {
  const auto failing = [](std::int64_t tile) {
    observation o = trial({success, internal}, {success});
    o.calls[1].what.facts = {{"failed", std::int64_t{2}},
                             {"first_failing", std::vector<std::int64_t>{66, tile}}};
    return o;
  };
  EXPECT_EQ(
      saw(arm(arm_kind::remedy, {failing(7), failing(10)})),
      "cublasCreate: CUBLAS_STATUS_SUCCESS, cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR (failed 2; first "
      "failing 66, 7); then cublasCreate: CUBLAS_STATUS_SUCCESS; context usable")
      << "of the first trial";
  arm_result races = arm(arm_kind::fault, {failing(7), failing(10), trial({success})});
  races.races = "chance";
  EXPECT_TRUE(contains(saw(races), "2 of 3: ") && contains(saw(races), "66, 7)")) << saw(races);
}

TEST(arm_line, says_in_at_most_240_characters_what_the_arm_came_to) {
  arm_result a = arm(arm_kind::fault, {trial({no_memory})});
  EXPECT_EQ(saw(a), "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable");
  a.trials = {trial({no_memory}), not_provoked("no GPU")};
  EXPECT_EQ(saw(a), "not_provoked: no GPU");
  EXPECT_EQ(saw(arm(arm_kind::fault, {})), "no trial");
  a.trials = {trial({no_memory, internal, no_memory, internal, no_memory, internal, no_memory, internal})};
  EXPECT_EQ(saw(a).size(), 243U);
  EXPECT_TRUE(saw(a).ends_with("...")) << "cut: " << saw(a);
}

TEST(arm_line, that_is_bad_is_refused_with_what_to_do) {
  const auto line_refusal = [](const std::string& members, const std::string& trials = R"([{"calls":[]}])") {
    const std::string line =
        R"({"case":"memory.leak","arm":"a",)" + members + R"("kind":"fault","trials":)" + trials + "}";
    return refusal([&] { return filed_arm_from(cursor(line, "m.jsonl"), {first_run}); });
  };
  EXPECT_EQ(line_refusal(R"("expected":true,"run":0,)"), "(nothing was refused)");
  EXPECT_EQ(line_refusal(R"("expected":true,"saw":"nothing reads it","run":0,)"), "(nothing was refused)");
  EXPECT_EQ(line_refusal(R"("run":0,)"), "m.jsonl:1: top level: \"expected\" is missing");
  EXPECT_EQ(line_refusal(R"("expected":true,"colour":1,)"), "m.jsonl:1: colour: unknown key");
  EXPECT_EQ(line_refusal(R"("expected":true,"run":1,)"),
            "m.jsonl:1: run: run 1: stack.json has 1 runs, counted from 0");
  EXPECT_EQ(line_refusal(R"("expected":true,"runs":[{"run":1,"trials":1}],)"),
            "m.jsonl:1: runs[0]: run 1: stack.json has 1 runs, counted from 0");
  EXPECT_EQ(line_refusal(R"("expected":true,"run":0,"runs":[],)"),
            "m.jsonl:1: runs: the line has a run, too; leave one of them");
  for (const char* shares : {R"({"run":0,"trials":2})", R"({"run":0,"trials":0})",
                             R"({"run":0,"trials":2},{"run":0,"trials":18446744073709551615})"})
    EXPECT_EQ(line_refusal(R"("expected":true,"runs":[)" + std::string(shares) + "],"),
              "m.jsonl:1: runs: do not add up to the arm's 1 trials");
  EXPECT_TRUE(line_refusal(R"("expected":true,)", R"([{"calls":[{"api":"product"}]}])")
                  .starts_with("m.jsonl:1: trials[0].calls[0].api: \"product\" is no function of the CUDA "
                               "headers"));
  EXPECT_TRUE(refusal([] {
                return cursor(R"({"case":"memory.leak","arm":"a","expe)", "m.jsonl");
              }).starts_with("m.jsonl:1: syntax error"));
}

TEST(run_of_an_arm, is_told_by_commit_time_and_seed) {
  EXPECT_EQ(run_json(first_run).dump(),
            R"({"commit":"1111111","dirty":true,"started":"2026-11-21T07:27:40Z","seed":1})");
  EXPECT_EQ(run_from(cursor(run_json(first_run).dump())), first_run);
  run_of_trials whole = first_run;
  whole.version = "0.1.0";
  whole.driver = "580.159.04";
  whole.driver_log = driver_log_heard;
  whole.gpus = {"0a1b2c3d"};
  whole.build_ids = {{"cublas", "0a1b"}};
  EXPECT_EQ(run_from(cursor(run_json(whole).dump())), whole);
  EXPECT_EQ(refusal([] { return run_from(cursor(R"({"commit":"c","started":"now","seed":1})")); }),
            "x.json:1: started: expected a UTC time such as 2026-11-21T07:27:40Z");
  EXPECT_EQ(refusal([] { return run_from(cursor(R"({"commit":"c","started":"2026-11-21T07:27:40Z"})")); }),
            "x.json:1: top level: \"seed\" is missing");
}

TEST(run_of_an_arm, says_of_which_trials_the_driver_was_heard) {
  arm_result a;
  a.runs = {run_of_trials{.driver_log = "off", .trials = 2},
            run_of_trials{.driver_log = driver_log_heard, .trials = 1}};
  const std::vector expected{false, false, true, false};  // no run made a fourth one
  for (std::size_t trial = 0; trial < expected.size(); ++trial)
    EXPECT_EQ(heard_driver_log(a, trial), expected[trial]) << trial;
  EXPECT_FALSE(heard_driver_log(a));
  a.runs.erase(a.runs.begin());
  EXPECT_TRUE(heard_driver_log(a));
  EXPECT_TRUE(heard_driver_log(a, 0));
  EXPECT_FALSE(heard_driver_log(arm_result()));
}

}  // namespace
}  // namespace cufault
