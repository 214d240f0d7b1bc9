// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault sweep -- COMMAND` makes of a program, and of a command that cannot be swept.
#include "harness/cli/tests/sweep_program_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

const char* const build_tree = BUILD_TREE;
const char* const build_command = TEST_PROGRAM;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// ---- outcomes ----

TEST_F(sweep_program, a_failure_that_is_reported_is_acceptable) {
  const swept seen = sweep({}, {"report", "warn"});
  EXPECT_EQ(seen.process.exit_code, 0) << seen.process.stderr_text;
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuInit reported", "cuCtxGetDevice reported"));
  EXPECT_EQ(seen.of("row")[0]["ended"], "exit 3");
  EXPECT_EQ(seen.of("row")[1]["ended"], "exit 0") << "its output says so";
  EXPECT_EQ(seen.of("end").at(0)["exit_code"], 0);
}

TEST_F(sweep_program, a_failure_that_is_swallowed_is_told) {
  const swept seen = sweep({}, {"swallow"});
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDriverGetVersion swallowed"));
}

TEST_F(sweep_program, a_crash_is_run_again_three_times) {
  const swept seen = sweep({}, {"crash"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuMemAlloc_v2 crashed", "cuMemFree_v2 swallowed"));
  for (const json& r : seen.of("row")) {
    const bool crashed = r["outcome"] == "crashed";
    EXPECT_EQ(r["acceptable"], !crashed);
    EXPECT_EQ(r.contains("repeats"), crashed);
    if (!crashed) continue;
    EXPECT_EQ(r["ended"], "SIGSEGV");
    EXPECT_EQ(r["repeats"], json({"crashed", "crashed", "crashed"}));
    EXPECT_EQ(r["repeatable"], true);
  }
}

TEST_F(sweep_program, what_does_not_come_again_is_marked) {
  const swept seen = sweep({"--anew"}, {"crash_once"}, true);
  EXPECT_EQ(seen.process.exit_code, 1);
  const auto rows = seen.of("row");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["outcome"], "crashed");
  EXPECT_EQ(rows[0]["repeats"], json({"swallowed", "swallowed", "swallowed"}));
  EXPECT_EQ(rows[0]["repeatable"], false);
  EXPECT_THAT(cufault({"--anew"}, {swept_program, "crash_once"}, true).stdout_text,
              HasSubstr("NOT REPEATABLE"));
}

TEST_F(sweep_program, a_hang_is_ended) {
  const swept seen = sweep({"--timeout", "2s"}, {"hang", "swallow"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuCtxGetCurrent hung", "cuDriverGetVersion swallowed"));
}

TEST_F(sweep_program, other_output_is_found) {
  const swept seen = sweep({}, {"print"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDeviceGetCount other_output"));
}

TEST_F(sweep_program, output_is_not_compared_where_clean_runs_differ) {
  const swept seen = sweep({}, {"print", "time"}, true);
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDeviceGetCount swallowed"));
  EXPECT_EQ(seen.of("sweep").at(0)["clean"]["same_output"], false);
}

TEST_F(sweep_program, what_is_left_behind_is_found) {
  const swept memory = sweep({}, {"leak_memory"});
  EXPECT_EQ(memory.process.exit_code, 1);
  EXPECT_THAT(memory.outcomes(), UnorderedElementsAre("cuMemAlloc_v2 swallowed", "cuMemAlloc_v2 leaked",
                                                      "cuMemFree_v2 swallowed", "cuMemFree_v2 swallowed"));
  const swept process = sweep({}, {"leak_process"});
  EXPECT_EQ(process.process.exit_code, 1);
  EXPECT_THAT(process.outcomes(), ElementsAre("cuCtxGetDevice leaked"));
  EXPECT_EQ(process.of("row").at(0)["left"]["processes"], 1);
  EXPECT_EQ(process.of("row").at(0)["repeatable"], true);
}

TEST_F(sweep_program, shared_memory_that_is_left_behind_is_named) {
  const auto ours = [] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().starts_with("cufault-swept-")) found.push_back(entry.path());
    return found;
  };
  const swept seen = sweep({"-j", "2"}, {"leak_shared_memory", "swallow"});
  for (const fs::path& file : ours()) fs::remove(file);
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuCtxGetDevice leaked", "cuDriverGetVersion swallowed"))
      << "what ran beside it is not blamed";
  for (const json& r : seen.of("row"))
    if (r["outcome"] == "leaked") {
      EXPECT_THAT(r["left"]["shared_memory"].dump(), HasSubstr("cufault-swept-"));
    }
}

TEST_F(sweep_program, sites_that_differ_between_clean_runs_are_not_indexed) {
  const swept seen = sweep({}, {"more_each_run", "report"}, true);
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuInit reported"));
  for (const json& s : seen.of("site")) EXPECT_EQ(s["stable"], s["function"] == "cuInit");
  EXPECT_THAT(cufault({}, {swept_program, "more_each_run", "report"}, true).stdout_text,
              HasSubstr("not swept: cuDriverGetVersion at injector_swept"));
  EXPECT_EQ(sweep({}, {"more_each_run"}, true).process.exit_code, 77) << "none is left";
}

TEST_F(sweep_program, a_call_that_is_not_reached_is_not_taken_for_tried) {
  const swept seen = sweep({}, {"only_at_first"}, true);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDriverGetVersion not_reached"));
  EXPECT_EQ(seen.process.exit_code, 3);
}

// ---- commands that cannot be swept ----

TEST_F(sweep_program, an_option_comes_before_its_variable) {
  spawn_options started;
  started.environment = {{"CUFAULT_JOBS", "none"}, {"TMPDIR", folder / "temporary"}};
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"-j", "1"}, {"-j1"}, {"--jobs", "1"}, {"--jobs=1"}}) {
    started.argv = words_of(options, {swept_program, "report"});
    EXPECT_EQ(run_process(started, {}).exit_code, 0) << options[0];
  }
  started.argv = words_of({}, {swept_program, "report", "-j1"});
  const auto refused = run_process(started, {});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.stderr_text, testing::StartsWith("cufault: CUFAULT_JOBS: "));
}

TEST_F(sweep_program, a_command_that_takes_the_injector_away_is_told) {
  if (emulated) GTEST_SKIP() << "env is of this processor";
  const auto hidden = cufault({}, {"env", "-u", "LD_PRELOAD", swept_program, "report"});
  EXPECT_EQ(hidden.exit_code, 77);
  EXPECT_THAT(hidden.stderr_text, HasSubstr("a process took LD_PRELOAD from the environment"));
  EXPECT_THAT(cufault({}, {"env", swept_program}).stderr_text, testing::Not(HasSubstr("LD_PRELOAD")));
}

TEST_F(sweep_program, the_tool_s_failures_are_no_findings) {
  const auto absent = cufault({}, {"no-such-program"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.stderr_text, HasSubstr("no-such-program: cannot be run: no such program is in PATH"));
  EXPECT_EQ(cufault({}, {"/no/such/program"}).exit_code, 2);
  const auto fails = cufault({}, {swept_program, "report", "fail"});
  EXPECT_EQ(fails.exit_code, 2);
  EXPECT_THAT(fails.stderr_text, HasSubstr("fails where nothing is made to fail (exit 7)"));
  const auto calls_nothing = cufault({}, {swept_program});
  EXPECT_EQ(calls_nothing.exit_code, 77);
  EXPECT_THAT(calls_nothing.stderr_text, HasSubstr("called no function of the driver"));
}

TEST_F(sweep_program, wrong_options_are_refused_in_one_line) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--shard", "3/2"},
                                             {"--shard", "2"},
                                             {"--shard", "1/2x"},
                                             {"--budget", "soon"},
                                             {"--timeout", "0"},
                                             {"--depth", "deep"},
                                             {"create"},
                                             {"--row", "a:b:1=UNKNOWN"},
                                             {"--record", "a", "--resume", "b"}}) {
    const auto refused = cufault(options, {swept_program, "report"});
    EXPECT_EQ(refused.exit_code, 2) << options[0];
    EXPECT_EQ(std::count(refused.stderr_text.begin(), refused.stderr_text.end(), '\n'), 1) << options[0];
  }
  spawn_options operation;
  operation.argv = {tested_command, "sweep", "road", "--pairs"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("--pairs is of sweeps of a command"));
  operation.argv = {tested_command, "sweep", "road", "--library", "cublas"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("--library is of sweeps of a command"));
  operation.argv = {tested_command, "sweep"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("neither an operation nor a command"));
}

}  // namespace
}  // namespace cufault
