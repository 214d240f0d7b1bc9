// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Trials and their verdicts, from the command line to the exit code, on a fake cuBLAS.
#include "harness/cli/tests/end_to_end.hpp"

#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

namespace cufault {

const char *const test_program = TEST_PROGRAM, *const fake_cublas_folder = FAKE_CUBLAS_DIR,
                  *const driver_stand_ins_folder = DOCTOR_FAKES;
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(end_to_end, leaves_a_record_of_new_arms_the_first_time) {
  const auto seen = run({"road.create"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("4 NEW"));
  ASSERT_EQ(files(".jsonl").size(), 1U);
  const record r = load_record(files(".jsonl")[0]);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.cases.at(0).arms.size(), 4U);
  EXPECT_EQ(keys_of(r).at("cublas"), "13.1.0");
  const call_record& call = arm_of(r, "fault").trials.at(0).calls.at(0);
  EXPECT_EQ(call.what.name.api, "cublasCreate");
  EXPECT_EQ(call.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
}

TEST_F(end_to_end, names_a_gpu_that_ctest_allocated_and_that_is_not_here) {
  const std::map<std::string, std::string> allocated{{"CTEST_RESOURCE_GROUP_COUNT", "1"},
                                                     {"CTEST_RESOURCE_GROUP_0", "gpus"},
                                                     {"CTEST_RESOURCE_GROUP_0_GPUS", "id:gpu_77,slots:1"}};
  const auto refused = run({"road.create"}, allocated);
  EXPECT_EQ(refused.exit_code, 2) << refused.stdout_text;
  EXPECT_THAT(refused.stderr_text, HasSubstr("gpu_77, which is not here"));
  const auto told = run({"road.create", "--device", "0"}, allocated);
  EXPECT_EQ(told.exit_code, 0) << told.stderr_text;
}

TEST_F(end_to_end, leaves_nothing_behind) {
  const fs::path home = folder / "home", temporary = folder / "temporary";
  fs::create_directories(home);
  const auto seen = run({"road.ends"}, {{"HOME", home}});
  EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text << seen.stderr_text;
  EXPECT_EQ(seen.stragglers, 0);
  EXPECT_TRUE(fs::is_empty(home));
  EXPECT_TRUE(fs::is_empty(temporary)) << fs::directory_iterator(temporary)->path();
}

TEST_F(end_to_end, tells_of_what_was_left_behind) {
  const fs::path litter = folder / "temporary" / "cufault-trial-999999999-AbCdEf";
  preflight();
  run({"road.create"});
  fs::create_directories(litter);
  const auto seen = floor();
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr(litter.string()));
  EXPECT_THAT(seen.stdout_text, HasSubstr("1 cases were executed; the floor is 1\n"));
}

TEST_F(end_to_end, holds_nothing_against_trials_that_others_left) {
  const fs::path home = folder / "home", older = folder / "temporary" / "cufault-trial-999999999-AbCdEf",
                 others = folder / "temporary" / "cufault-trial-999999999-GhIjKl";
  fs::create_directories(older);
  fs::last_write_time(older, fs::file_time_type::clock::now() - std::chrono::hours(1));
  preflight();
  run({"road.create"});
  fs::create_directories(home / ".nv" / "ComputeCache");
  fs::create_symlink("nowhere", home / ".nv" / "broken");
  std::ofstream(home / ".nv" / "ComputeCache" / "index") << "code";
  if (geteuid() == 0) {
    fs::create_directories(others);
    ASSERT_EQ(chown(others.c_str(), 65534, 65534), 0);
  }
  const auto seen = floor({}, {{"HOME", home}});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("note: "), HasSubstr(home / ".nv" / "ComputeCache/index")));
}

TEST_F(end_to_end, runs_nothing_where_no_trial_gets_a_folder) {
  std::ofstream(folder / "a_file") << "in the way";
  for (const std::string& unusable : {std::string("/nonexistent"), (folder / "a_file").string()}) {
    expect_refused(run({"road.create"}, {{"TMPDIR", unusable}}),
                   "no temporary folder can be made (TMPDIR=" + unusable + "): ");
    EXPECT_TRUE(files(".jsonl").empty());
  }
  EXPECT_EQ(run({"road.create"}).exit_code, 0);
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
}

TEST_F(end_to_end, tells_crashes_exit_handlers_and_forks_apart) {
  // Where a sanitizer would turn a crash into an exit, it stands aside.
  const auto seen = run({"road.ends"}, crash_by_signal());
  ASSERT_EQ(seen.exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto trial_of = [&](const std::string& name) -> const observation& {
    return arm_of(r, name).trials.at(0);
  };
  EXPECT_EQ(describe(signature_of(trial_of("litter"))),
            "cublasSgemm crash: never returned; crashed: SIGSEGV in cublasSgemm");
  EXPECT_THAT(describe(signature_of(trial_of("fork_crash"))), HasSubstr("crashed: SIGSEGV in cublasSgemm"));
  ASSERT_EQ(trial_of("fork_crash").notes.size(), 1U);
  EXPECT_EQ(trial_of("fork_crash").notes[0].text, "no error");
  EXPECT_EQ(trial_of("at_exit").calls.size(), 2U) << "what an exit handler observed";
  EXPECT_EQ(trial_of("at_exit").ended, outcome::completed);
  EXPECT_EQ(trial_of("fork").calls.size(), 2U);
  EXPECT_THAT(seen.stdout_text, HasSubstr("road.ends/other_pair: needs a second cuBLAS"));
}

TEST_F(end_to_end, survives_the_rows_of_a_table_and_says_what_each_came_to) {
  ASSERT_EQ(run({"road.rows"}, crash_by_signal()).exit_code, 2);
  const record r = load_record(files(".jsonl").at(0));
  const auto trial_of = [&](const std::string& name) -> const observation& {
    return arm_of(r, name).trials.at(0);
  };
  const observation& seen = trial_of("rows");
  EXPECT_EQ(seen.ended, outcome::completed);
  EXPECT_EQ(
      describe(signature_of(seen)),
      "cublasSgemm returns: CUBLAS_STATUS_SUCCESS (written C), cublasSgemm crashes: CRASHED (signal "
      "SIGSEGV), "
      "cublasSgemm fails: CUBLAS_STATUS_INVALID_VALUE (blamed 8), cublasSgemm exits: EXITED (exit code 3), "
      "cublasSgemm hangs: TIMED_OUT, cublasSgemm returns: CUBLAS_STATUS_SUCCESS (written C); context none");
  const auto told = [](const observation& o) {
    std::vector<std::string> names;
    for (const auto& m : o.measurements) names.push_back(m.name);
    return names;
  };
  EXPECT_THAT(told(seen), ElementsAre("a row came to 'CUBLAS_STATUS_SUCCESS'", "a row came to 'CRASHED'",
                                      "a row came to 'CUBLAS_STATUS_INVALID_VALUE'", "a row came to 'EXITED'",
                                      "a row came to 'TIMED_OUT'", "a row came to 'CUBLAS_STATUS_SUCCESS'"));
  EXPECT_EQ(trial_of("rows_without_set_up").ended, outcome::harness_failed);
  EXPECT_THAT(trial_of("rows_without_set_up").why, HasSubstr("no table"));
  EXPECT_EQ(trial_of("crash_between_rows").ended, outcome::harness_failed);
  EXPECT_THAT(trial_of("crash_between_rows").why, HasSubstr("row 0: crashed: SIGSEGV outside of a call"));
  EXPECT_EQ(trial_of("late_between_rows").ended, outcome::harness_failed);
  EXPECT_EQ(trial_of("late_between_rows").why, "row 0: timed out outside of a call");
  EXPECT_EQ(trial_of("slow_row").ended, outcome::completed) << trial_of("slow_row").why;
  EXPECT_EQ(trial_of("slow_row").calls.size(), 25U);
  EXPECT_EQ(trial_of("row_without_its_function").ended, outcome::not_provoked);
  EXPECT_THAT(trial_of("row_without_its_function").why, HasSubstr("cublasNew"));
  EXPECT_EQ(trial_of("row_without_its_function").calls.size(), 1U) << "the row before it, and none after it";
  EXPECT_THAT(told(trial_of("row_without_its_function")),
              ElementsAre("a row came to 'CUBLAS_STATUS_SUCCESS'", "a row came to ''", "a row came to ''"));
}

TEST_F(end_to_end, records_what_the_library_logs_and_lets_a_trial_hear_it) {
  ASSERT_EQ(run({"road.rows/hear_the_library_log"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const observation& seen = arm_of(r, "hear_the_library_log").trials.at(0);
  EXPECT_THAT(seen.library_log,
              ElementsAre("cublasLtMatmul: refused", "cublasLtMatmul: a hint", "cublasLtMatmul: refused"));
  ASSERT_EQ(seen.measurements.size(), 1U);
  EXPECT_EQ(seen.measurements[0].value, 1)
      << "not the hint, and not what came when nobody listened any longer";
}

TEST_F(end_to_end, takes_a_second_pair_where_one_is_given) {
  const std::map<std::string, std::string> other{{"CUFAULT_OTHER_CUBLAS", fs::path(FAKE_CUBLAS_DIR) / "old"}};
  ASSERT_EQ(run({"road.ends/other_pair"}, other).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  EXPECT_EQ(keys_of(r).at("other_cublas"), "12.4.0");
  for (const char* library : {"cublas", "cublaslt", "other_cublas", "other_cublaslt"}) {
    const auto& file = r.stack->at("files").at(library);
    EXPECT_GT(file.at("bytes"), 0) << library;
    EXPECT_THAT(
        file.at("soname").get<std::string>(),
        ::testing::StartsWith(std::string(library).ends_with("lt") ? "libcublasLt.so." : "libcublas.so."));
  }
  const auto& calls = arm_of(r, "other_pair").trials.at(0).calls;
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].what.status, "LOADER_ERROR");
  EXPECT_EQ(calls[1].what.status, "LOADED");
  EXPECT_EQ(calls[2].what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_THAT(add(files(".jsonl")[0]).stdout_text, HasSubstr("cublas-13.1.0-other-12.4.0: "));
  EXPECT_EQ(run({"road.ends/other_pair", "--mode", "gate"}, other).exit_code, 0);

  const auto missing = run({"road.ends/other_pair"}, {{"CUFAULT_OTHER_CUBLAS", folder / "nowhere"}});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.stderr_text, HasSubstr("CUFAULT_OTHER_CUBLAS"));
}

TEST_F(end_to_end, names_a_second_pair_that_kills_the_process) {
  const fs::path deadly = folder / "deadly";
  fs::create_directories(deadly);
  fs::create_symlink(fs::path(FAKE_CUBLAS_DIR) / "deadly" / "libcublas.so.13", deadly / "libcublas.so.13");
  fs::create_symlink(fs::path(FAKE_CUBLAS_DIR) / "a" / "libcublasLt.so.13", deadly / "libcublasLt.so.13");
  const auto seen = run({"road.ends/other_pair"}, {{"CUFAULT_OTHER_CUBLAS", deadly}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, AllOf(HasSubstr("CUFAULT_OTHER_CUBLAS: " + deadly.string()),
                                      HasSubstr("a process that loads it ended: crashed: SIGABRT")));
}

TEST_F(end_to_end, repeats_a_trial_that_says_that_device_memory_moved) {
  const auto seen = run({"road.moves/once"}, {{"ROAD_COUNTER", folder / "counter"}});
  EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
  EXPECT_TRUE(fs::exists(folder / "counter")) << "the first trial did not say so";
  EXPECT_THAT(seen.stdout_text, Not(HasSubstr("NOT_PROVOKED")));
}

TEST_F(end_to_end, states_the_rate_of_an_arm_that_races) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  ASSERT_EQ(run({"road.races", "--repeats", "0"}, counter).exit_code, 0);
  ASSERT_EQ(add(files(".jsonl")[0]).exit_code, 0);
  const auto again = run({"road.races", "--repeats", "0", "--mode", "gate", "-v"}, counter);
  EXPECT_EQ(again.exit_code, 0) << again.stdout_text;
  EXPECT_THAT(again.stdout_text,
              AllOf(HasSubstr("FLAKY"), HasSubstr("15 of 20: cublasCreate: CUBLAS_STATUS_SUCCESS")));
}

TEST_F(end_to_end, takes_fewer_trials_of_an_arm_that_races_below_the_nightly_tier) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  const auto trials = [&](const std::vector<std::string>& more) {
    fs::remove_all(folder / "records");
    std::vector<std::string> words{"road.races", "road.shared/repeats"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run(words, counter).exit_code, 0);
    std::map<std::string, std::size_t> of_arm;
    const record made = load_record(files(".jsonl").at(0));
    for (const case_result& c : made.cases)
      for (const arm_result& a : c.arms)
        if (a.kind == arm_kind::fault) of_arm[a.name] = a.trials.size();
    return std::pair{of_arm.at("now_and_then"), of_arm.at("repeats")};
  };
  EXPECT_EQ(trials({}), std::pair(std::size_t{5}, std::size_t{3})) << "only one of them races";
  EXPECT_EQ(trials({"--repeats", "2"}), std::pair(std::size_t{2}, std::size_t{3}));
  EXPECT_EQ(trials({"--repeats", "0"}), std::pair(std::size_t{20}, std::size_t{3}));
  EXPECT_EQ(trials({"--tier", "nightly"}), std::pair(std::size_t{20}, std::size_t{3}));
  EXPECT_EQ(trials({"--tier", "nightly", "--repeats", "4"}), std::pair(std::size_t{4}, std::size_t{3}));
}

TEST_F(end_to_end, is_unresolved_when_set_up_fails) {
  const auto seen = run({"road.set_up"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, HasSubstr("the table is not laid"));
}

TEST_F(end_to_end, measures_the_edge_of_a_levels) {
  EXPECT_EQ(run({"road.ladder"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto& trials = arm_of(r, "climb").trials;
  std::map<std::string, double> measured;
  for (const auto& t : trials) {
    for (const auto& m : t.measurements) measured[m.name] = m.value;
  }
  EXPECT_EQ(measured["largest failing"], 36);
  EXPECT_EQ(measured["smallest succeeding"], 37);
}

TEST_F(end_to_end, applies_the_limits_of_an_arm_to_its_trial_alone) {
  EXPECT_EQ(run({"road.limits"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto may_open = [&](const char* arm) { return arm_of(r, arm).trials.at(0).measurements.at(0).value; };
  EXPECT_GT(may_open("control"), 64);
  EXPECT_EQ(may_open("limited"), 64);
}

TEST_F(end_to_end, leaves_files_of_its_report_with_an_error_where_it_cannot_begin) {
  const std::string junit = folder / "run.xml", ctrf = folder / "run.json";
  const std::string page = folder / "summary.md";
  const std::vector<std::string> words{"road.create", "--junit", junit, "--ctrf", ctrf, "--markdown", page};
  EXPECT_EQ(run(words).exit_code, 0);
  EXPECT_THAT(read_text(ctrf), HasSubstr(R"("name":"road.create/fault")"));
  EXPECT_THAT(read_text(page), testing::StartsWith("## cufault run: "));
  EXPECT_THAT(read_text(junit), AllOf(HasSubstr("name=\"road.create\""), Not(HasSubstr("cufault.run"))));
  EXPECT_EQ(run(words, {{"CUFAULT_REQUIRE_GPU", "1"}}).exit_code, 1);
  EXPECT_THAT(read_text(junit),
              AllOf(HasSubstr("<testsuite name=\"cufault.run\""), HasSubstr(" errors=\"1\""),
                    HasSubstr("<error type=\"UNRESOLVED\" message=\"CUFAULT_REQUIRE_GPU is set and"),
                    Not(HasSubstr("road.create\" timestamp"))));
  EXPECT_THAT(read_text(ctrf), AllOf(HasSubstr("\"failed\":1"), HasSubstr("CUFAULT_REQUIRE_GPU is set and")));
  EXPECT_EQ(run(words, {{"CUFAULT_REQUIRE_GPU", "1"}}).exit_code, 1) << "also where the files are there";
}

}  // namespace
}  // namespace cufault
