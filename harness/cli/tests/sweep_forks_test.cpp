// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault sweep -- COMMAND`: rows in processes that are forked before CUDA begins, programs that cannot be forked, where a row's call is made,
// and second failures.
#include "harness/cli/tests/sweep_program_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

const std::vector<std::string> reported_and_swallowed{"cuInit reported", "cuDriverGetVersion swallowed"};

/// Of rows that were run by a fork, by its end.
json forked(const json& end) {
  return end.contains("anew") ? end["anew"] : json(end["forked"]);
}

class sweep_forks : public sweep_program {
  void SetUp() override {
    sweep_program::SetUp();
    if (emulated) GTEST_SKIP() << "qemu has threads of its own, and python3 is of this processor";
  }
};

// ---- what is forked does what is started anew ----

TEST_F(sweep_forks, rows_are_forked_and_one_in_ten_is_compared) {
  const swept seen = sweep({"--depth", "every"}, {"report", "swallow", "crash"});
  EXPECT_EQ(seen.process.exit_code, 1) << seen.process.stderr_text;
  const json end = seen.of("end").at(0);
  const std::size_t rows = seen.of("row").size();
  EXPECT_GT(rows, 10U);
  EXPECT_EQ(end["compared"], (rows + 9) / 10);
  EXPECT_EQ(end["forked"], rows);
  EXPECT_FALSE(end.contains("anew"));
  const swept anew = sweep({"--depth", "every", "--anew"}, {"report", "swallow", "crash"});
  EXPECT_EQ(anew.of("end").at(0)["forked"], 0);
  EXPECT_EQ(anew.of("end").at(0)["anew"], "--anew");
  EXPECT_EQ(seen.outcomes(), anew.outcomes());
  const swept wide = sweep({"--depth", "every", "-j", "3"}, {"report", "swallow", "crash"});
  EXPECT_THAT(wide.outcomes(), testing::UnorderedElementsAreArray(seen.outcomes()));
  EXPECT_THAT(cufault({}, {swept_program, "report", "swallow"}).stdout_text,
              HasSubstr("2 of 2 rows ran in forked processes, 1 in both ways"));
}

TEST_F(sweep_forks, output_from_before_the_fork_comes_once_and_handlers_at_the_end_run) {
  for (const char* begins : {"begin", "begin_at_once"}) {
    const swept seen = sweep({}, {begins, "at_exit", "report", "swallow"});
    EXPECT_THAT(seen.outcomes(), reported_and_swallowed) << begins << seen.process.stdout_text;
    EXPECT_EQ(forked(seen.of("end").at(0)), 2) << begins;
  }
}

TEST_F(sweep_forks, each_child_reads_a_file_from_where_the_program_stopped) {
  const swept seen = sweep({}, {"open_file", "report", "swallow", "warn", "tell"});
  EXPECT_THAT(seen.outcomes(), Contains("cuDriverGetVersion swallowed"));
  EXPECT_EQ(forked(seen.of("end").at(0)), 3);
}

TEST_F(sweep_forks, a_fork_is_not_told_and_a_mutex_stays_its_thread_s) {
  const swept seen = sweep({}, {"note_forks", "hold_mutex", "report", "swallow", "tell"});
  EXPECT_THAT(seen.outcomes(), reported_and_swallowed);
  EXPECT_EQ(forked(seen.of("end").at(0)), 2);
}

TEST_F(sweep_forks, a_program_that_becomes_another_is_forked_there) {
  const swept seen = sweep({}, {"exec", "report", "swallow"});
  EXPECT_THAT(seen.outcomes(), reported_and_swallowed);
  EXPECT_EQ(forked(seen.of("end").at(0)), 2);
}

TEST_F(sweep_forks, threads_that_a_fork_ends_are_no_hindrance) {
  const swept seen = sweep({}, {"thread_until_a_fork", "report", "swallow"});
  EXPECT_THAT(seen.outcomes(), reported_and_swallowed);
  EXPECT_EQ(forked(seen.of("end").at(0)), 2);
}

TEST_F(sweep_forks, a_forked_row_that_hangs_or_leaves_a_process_is_ended) {
  const swept seen =
      sweep({"--timeout", "2s"}, {"ignore_signals", "hang", "swallow", "leak_process", "swallow"});
  EXPECT_THAT(seen.outcomes(), AllOf(Contains("cuCtxGetCurrent hung"), Contains("cuCtxGetDevice leaked")));
  EXPECT_EQ(seen.of("end").at(0).contains("anew"), false);
}

TEST_F(sweep_forks, a_hang_is_believed_when_it_came_again_and_else_tried_three_times) {
  for (const auto& [how, repeats] :
       {std::pair{"hang", json{"hung"}}, {"hang_once", {"swallowed", "swallowed", "swallowed"}}}) {
    const swept seen = sweep({"-j", "1", "--timeout", "10s"}, {"report", how}, true);
    ASSERT_EQ(seen.of("row").size(), 2);
    const json row = seen.of("row").at(1);
    EXPECT_EQ(row["outcome"], "hung");
    EXPECT_EQ(row["repeats"], repeats);
    EXPECT_EQ(row["repeatable"], how == std::string_view("hang"));
    EXPECT_EQ(fs::file_size(folder / "runs"), 4 + repeats.size())
        << "two clean runs, one that forks, one compared";
  }
  EXPECT_THAT(cufault({"--timeout", "10s"}, {swept_program, "report", "hang"}).stdout_text,
              HasSubstr("NOT ACCEPTABLE; 1 of 1 again"));
}

TEST_F(sweep_forks, a_timer_that_was_set_before_the_fork_goes_on_in_each_child) {
  const swept seen = sweep({"--timeout", "20s"}, {"alarm", "report", "hang"});
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuInit reported", "cuCtxGetCurrent crashed"));
  EXPECT_EQ(seen.of("row").at(1)["ended"], "SIGALRM");
  EXPECT_EQ(forked(seen.of("end").at(0)), 2);
}

TEST_F(sweep_forks, a_lock_of_the_process_that_waits_is_not_taken_for_a_difference) {
  const swept seen = sweep({"-j", "1"}, {"lock", "report", "swallow"});
  EXPECT_THAT(seen.outcomes(), reported_and_swallowed);
  EXPECT_EQ(seen.of("row").at(0)["ended"], "exit 3");
  EXPECT_EQ(forked(seen.of("end").at(0)), 2);
}

TEST_F(sweep_forks, what_only_forked_processes_do_is_acceptable_where_three_that_are_started_do_not) {
  const swept seen = sweep({"-j", "1"}, {"note_process", "report", "swallow", "tell"});
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuInit reported", "cuDriverGetVersion other_output"));
  EXPECT_EQ(seen.of("row").at(1)["repeats"], json({"swallowed", "swallowed", "swallowed"}));
  EXPECT_EQ(seen.of("row").at(1)["acceptable"], true);
  EXPECT_EQ(seen.process.exit_code, 0);
}

TEST_F(sweep_forks, what_one_forked_process_does_and_another_does_not_is_no_difference) {
  const json end = sweep({"-j", "1"}, {"crash_once", "report"}, true).of("end").at(0);
  EXPECT_EQ(end["compared"], 1) << "the row that crashed once";
  EXPECT_EQ(forked(end), 1);
  fs::remove(folder / "runs.failed");
  const std::string record = folder / "sweep.jsonl";
  const swept seen = sweep({"-j", "1", "--record", record}, {"report_once", "swallow"}, true);
  EXPECT_EQ(seen.of("row").size(), 2) << "what a comparison changes is written once";
  EXPECT_EQ(sweep({"-j", "1", "--resume", record}, {"report_once", "swallow"}, true).process.exit_code, 0);
}

TEST_F(sweep_forks, a_crash_that_came_anew_is_forked_from_then_on) {
  const swept seen = sweep({"-j", "1"}, {"report", "crash"}, true);
  EXPECT_EQ(seen.of("row").at(1)["repeats"], json({"crashed", "crashed", "crashed"}));
  EXPECT_EQ(fs::file_size(folder / "runs"), 5U)
      << "two clean runs, one that forks, one compared, one of the crash";
}

TEST_F(sweep_forks, rows_that_were_forked_are_run_again_where_forks_differ) {
  const swept seen =
      sweep({"-j", "1", "--depth", "every"}, {"note_process", "report", "swallow", "tell", "handle_badly"});
  const json end = seen.of("end").at(0);
  EXPECT_THAT(end.value("anew", ""), HasSubstr("other_output"));
  EXPECT_EQ(end["forked"], 0);
  EXPECT_GT(seen.of("row").size(), end["rows"].get<std::size_t>()) << "some are told twice";
  EXPECT_EQ(seen.process.exit_code, 0);
  const std::string record = folder / "sweep.jsonl";
  std::vector<std::string> words(9, "swallow");  // calls that are all alike
  words.insert(words.begin(), {swept_program, "note_process"});
  words.emplace_back("tell");
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(cufault({"-j", "3", "--depth", "grouped", "--resume", record}, words).stdout_text,
                HasSubstr("\n2 rows: 2 swallowed; 0 not acceptable\n"));
}

// ---- what is started anew, and why ----

TEST_F(sweep_forks, a_row_that_differs_in_a_forked_process_ends_forking) {
  const swept seen = sweep({}, {"note_process", "swallow", "warn", "tell"});
  const json end = seen.of("end").at(0);
  EXPECT_THAT(end["anew"].get<std::string>(),
              testing::MatchesRegex("cu.* came to .*other_output.* in a forked process, and to .* anew"));
  EXPECT_EQ(end["forked"], 0);
  EXPECT_THAT(seen.outcomes(),
              UnorderedElementsAre("cuDriverGetVersion swallowed", "cuCtxGetDevice reported"));
}

TEST_F(sweep_forks, what_cannot_be_forked_is_started_anew) {
  std::vector<std::pair<std::string, std::string>> all{
      {"thread", "1 further thread of it has begun before its first call"},
      {"fork", "its first call comes in a process that it starts"},
      {"open_connection", "(connection) would be shared by forked processes"},
      {"open_pipe", "(pipe) would be shared by forked processes"},
      {"close_descriptors", "closed a descriptor that it inherited"},
      {"forbid_siblings", "it cannot fork: Resource temporarily unavailable"}};
  for (const char* kind : {"open_eventfd", "open_epoll", "open_timer", "open_signals", "open_inotify"})
    all.emplace_back(kind, "(eventfd, epoll, timer or the like) would be shared by forked processes");
  for (const auto& [begins, why] : all) {
    const swept seen = sweep({}, {begins, "report", "swallow"});
    EXPECT_THAT(seen.outcomes(), reported_and_swallowed) << begins;
    const json end = seen.of("end").at(0);
    EXPECT_THAT(end.value("anew", ""), HasSubstr(why)) << begins;
    EXPECT_EQ(end["forked"], 0);
  }
  EXPECT_THAT(cufault({}, {swept_program, "thread", "report"}).stdout_text,
              HasSubstr("the command is started anew for each run: 1 further thread"));
}

TEST_F(sweep_forks, descriptors_that_a_shell_passes_on_are_no_hindrance) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  spawn_options shell;
  shell.argv = {"/bin/sh", "-c", "exec \"$@\" 9<>\"$0\"", pipe};
  for (const std::string& word : words_of({"--json"}, {swept_program, "report", "swallow"}))
    shell.argv.push_back(word);
  EXPECT_THAT(run_process(shell, {}).stdout_text,
              AllOf(HasSubstr(R"("compared":1)"), Not(HasSubstr(R"("anew")"))));
}

TEST_F(sweep_forks, what_is_to_be_forked_and_never_gets_to_a_call_is_ended) {
  const swept seen = sweep({"--timeout", "1s"}, {"never_ready", "report", "swallow"}, true);
  EXPECT_THAT(seen.outcomes(), reported_and_swallowed);
  EXPECT_EQ(seen.of("end").at(0)["anew"], "it made no call that is seen in time");
}

TEST_F(sweep_forks, a_program_in_the_background_is_told) {
  const auto seen = cufault({}, {swept_program, "go_into_background", "report"});
  EXPECT_EQ(seen.exit_code, 77) << seen.stdout_text;
  EXPECT_THAT(seen.stderr_text, HasSubstr("its first process ended and left 1 process running"));
}

// ---- jobs, findings, places ----

TEST_F(sweep_program, outcomes_that_are_findings_can_be_named) {
  const swept stricter = sweep({"--unacceptable", "crashed,swallowed"}, {"report", "swallow", "print"});
  EXPECT_EQ(stricter.process.exit_code, 1);
  for (const json& r : stricter.of("row")) EXPECT_EQ(r["acceptable"], r["outcome"] != "swallowed");
  EXPECT_EQ(sweep({"--unacceptable", "crashed"}, {"print"}).process.exit_code, 0);
  EXPECT_EQ(cufault({"--unacceptable", "fine"}, {swept_program, "print"}).exit_code, 2);
}

TEST_F(sweep_program, a_row_says_where_its_call_is_made) {
  const swept seen = sweep({}, {"swallow"});
  const auto where = seen.of("row").at(0)["where"].get<std::vector<std::string>>();
  if (fs::exists("/usr/bin/addr2line")) {
    EXPECT_THAT(where.at(0), testing::MatchesRegex(".+ at swept.cpp:[0-9]+"));
  }
  EXPECT_THAT(cufault({}, {swept_program, "swallow"}).stdout_text,
              HasSubstr("where: " + where.at(0) + " < "));
}

TEST_F(sweep_forks, a_row_of_a_python_program_says_its_line) {
  const fs::path program = folder / "step.py";
  std::ofstream(program) << "import atexit, ctypes\n"
                            "print('begins')\n"
                            "atexit.register(print, 'ends')\n"
                            "driver = ctypes.CDLL('libcuda.so.1')\n"
                            "def step():\n"
                            "    return driver.cuInit(0)\n"
                            "step()\n";
  const auto seen = cufault(
      {"--json"}, {"/usr/bin/env", "LD_LIBRARY_PATH=" + tree + "/lib/injector_tests", "python3", program});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr(R"("outcome":"swallowed")"), HasSubstr(R"("compared":1)"),
                                      HasSubstr(R"("python":")" + program.string() + R"(:6 in step")")));
}

TEST_F(sweep_program, a_call_that_is_not_reached_says_why) {
  const swept seen = sweep({}, {"only_at_first"}, true);
  EXPECT_EQ(seen.of("row").at(0)["why"],
            "cuDriverGetVersion was never called, in processes that ended by themselves");
}

// ---- two failures ----

TEST_F(sweep_program, a_second_failure_is_tried_in_what_handles_the_first) {
  EXPECT_THAT(sweep({}, {"handle_badly"}).outcomes(), ElementsAre("cuDeviceGetCount swallowed"));
  const swept seen = sweep({"--pairs"}, {"handle_badly"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDeviceGetCount swallowed", "cuDeviceGetCount crashed"));
  const json pair = seen.of("row").at(1);
  EXPECT_EQ(pair["then"]["function"], "cuDriverGetVersion");
  EXPECT_EQ(pair["injections"], 2);
  spawn_options shell;
  const std::string again = pair["again"], inject = "cufault inject ";
  shell.argv = {"/bin/sh", "-c",
                "exec " + tested_command + " inject --require 2 " + again.substr(inject.size())};
  EXPECT_EQ(run_process(shell, {}).signal, SIGSEGV);
  EXPECT_THAT(sweep({"--pairs"}, {"swallow"}).outcomes(), ElementsAre("cuDriverGetVersion swallowed"))
      << "nothing follows";
}

TEST_F(sweep_program, a_record_goes_on_with_second_failures) {
  for (const char* depth : {"thin", "grouped"}) {
    const std::string record = folder / depth;
    const auto go_on = [&](const std::string& pairs) {
      return cufault({pairs, "--depth", depth, "--resume", record}, {swept_program, "handle_badly"});
    };
    EXPECT_EQ(go_on("--pairs").exit_code, 1);
    std::string kept;
    {
      std::ifstream in(record);
      for (std::string line; std::getline(in, line);)
        if (line.find(R"("then":)") == line.npos && line.find(R"("line":"end")") == line.npos)
          kept += line + "\n";
    }
    std::ofstream(record) << kept;  // as a kill behind the first row leaves it
    EXPECT_THAT(go_on("--pairs").stdout_text,
                AllOf(HasSubstr("2 rows: 1 swallowed, 1 crashed"), HasSubstr("then cuDriver")));
    EXPECT_THAT(go_on("--jobs=1").stdout_text, HasSubstr("2 rows"));
  }
}

}  // namespace
}  // namespace cufault
