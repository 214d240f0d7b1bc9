// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Depth, parts, budget, records and interruption of `cufault sweep -- COMMAND`.
#include "harness/cli/tests/sweep_program_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// ---- depth, parts, budget, records ----

TEST_F(sweep_program, depths_try_more_and_more) {
  const swept thin = sweep({}, {"last_matters"});
  EXPECT_THAT(thin.outcomes(), ElementsAre("cuDeviceGetCount swallowed"));
  const swept grouped = sweep({"--depth", "grouped"}, {"last_matters"});
  EXPECT_EQ(grouped.process.exit_code, 1);
  std::map<std::string, int> stands_for;
  for (const json& g : grouped.of("group")) stands_for[g["outcome"]] += g["calls"].get<int>();
  EXPECT_EQ(stands_for, (std::map<std::string, int>{{"swallowed", 4}, {"other_output", 1}}));
  const swept every = sweep({"--depth", "every"}, {"last_matters"});
  EXPECT_GE(every.of("row").size(), 5U);
  EXPECT_EQ(every.of("row").size() % 5, 0U) << "each of 5 calls, by each code";
}

TEST_F(sweep_program, parts_together_are_the_whole) {
  std::vector<std::string> parts;
  for (const char* part : {"1/2", "2/2"})
    for (const std::string& each : sweep({"--shard", part}, {"report", "swallow", "warn"}).outcomes())
      parts.push_back(each);
  EXPECT_THAT(parts, UnorderedElementsAre("cuInit reported", "cuDriverGetVersion swallowed",
                                          "cuCtxGetDevice reported"));
}

TEST_F(sweep_program, groups_are_told_once_by_a_record_that_goes_on) {
  const std::string record = folder / "sweep.jsonl";
  const auto groups = [&] {
    std::ifstream in(record);
    int found = 0;
    for (std::string line; std::getline(in, line);)
      found += line.find(R"("line":"group")") != line.npos ? 1 : 0;
    return found;
  };
  cufault({"--depth", "grouped", "--resume", record}, {swept_program, "last_matters"});
  const int told = groups();
  EXPECT_GT(told, 0);
  cufault({"--depth", "grouped", "--resume", record}, {swept_program, "last_matters"});
  EXPECT_EQ(groups(), told);
}

TEST_F(sweep_program, a_file_of_one_name_is_left_by_each_run_that_writes_it) {
  const fs::path file = fs::path("/dev/shm") / ("cufault-test-" + std::to_string(getpid()));
  const auto sweep_it = [&] {
    return cufault({}, {"/bin/sh", "-c",
                        emulating(swept_program, programs) + " report || : >" + file.string() + "; exit 0"});
  };
  for (const auto& seen : {sweep_it(), sweep_it()}) {
    EXPECT_EQ(seen.exit_code, 1);
    EXPECT_THAT(seen.stdout_text, HasSubstr("NOT ACCEPTABLE; 3 of 3 again"));
    EXPECT_THAT(seen.stdout_text, HasSubstr("left in /dev/shm: " + file.filename().string()));
  }
  fs::remove(file);
}

TEST_F(sweep_program, a_budget_says_what_it_left_out_and_a_record_goes_on) {
  const std::string record = folder / "sweep.jsonl";
  const auto cut =
      cufault({"--budget", "0.000001", "--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_THAT(cut.stdout_text, HasSubstr("2 rows were left out: the budget was spent; go on with --resume"));
  std::ofstream(record, std::ios::app) << R"({"line":"row","func)";  // as a kill may leave it
  const auto rest = cufault({"--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(rest.exit_code, 0) << rest.stderr_text;
  EXPECT_THAT(rest.stdout_text, HasSubstr("2 rows: 1 reported, 1 swallowed; 0 not acceptable"));
  const auto size = fs::file_size(record);
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report", "swallow"}).exit_code, 0);
  EXPECT_LT(fs::file_size(record), size + 200) << "only another end: no row was run again";
  const auto other = cufault({"--resume", record}, {swept_program, "report"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.stderr_text, HasSubstr("made with another command; begin anew with --record"));
  std::ofstream(record) << "{}\n";
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report"}).exit_code, 2);
}

TEST_F(sweep_program, two_at_once_do_not_write_one_record) {
  const std::string record = folder / "sweep.jsonl", said = folder / "said";
  for (const std::string option : {"--record ", "--resume "}) {
    fs::remove(said);
    // What the first one sweeps runs the second one, which is to be refused.
    const std::string second = "(unset LD_PRELOAD; " + tested_command + " sweep " + option + record + " -- " +
                               emulating(swept_program, programs) + " swallow) 2>>" + said + "; exec " +
                               emulating(swept_program, programs) + " report";
    const auto first = cufault({"--record", record}, {"/bin/sh", "-c", second});
    EXPECT_EQ(first.exit_code, 0) << first.stderr_text;
    EXPECT_THAT(first.stdout_text, HasSubstr("1 rows: 1 reported"));
    std::ifstream in(said);
    int refused = 0;
    for (std::string line; std::getline(in, line); ++refused)
      EXPECT_THAT(line, testing::StartsWith("cufault: " + record + ": another cufault sweep writes it; "));
    EXPECT_GT(refused, 2) << "beside both clean runs and beside the row";
  }
  EXPECT_EQ(cufault({"--record", record}, {swept_program, "swallow"}).exit_code, 0)
      << "the first one has ended";
}

TEST_F(sweep_program, a_record_that_two_wrote_is_not_gone_on_with) {
  const fs::path record = folder / "sweep.jsonl";
  ASSERT_EQ(cufault({"--record", record}, {swept_program, "report", "swallow"}).exit_code, 0);
  std::string row;
  {
    std::ifstream in(record);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(R"({"line":"row")")) row = line;
  }
  std::ofstream(record, std::ios::app) << row << '\n';
  const auto refused = cufault({"--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.stdout_text, "");
  EXPECT_THAT(refused.stderr_text,
              testing::MatchesRegex("cufault: .*sweep.jsonl:[0-9]+: top level: the row .* is there "
                                    "twice: two sweeps wrote this record; [^\n]*\n"));
}

TEST_F(sweep_program, a_record_is_opened_before_the_command_runs_and_begun_after_its_clean_runs) {
  const fs::path ran = folder / "ran", record = folder / "sweep.jsonl";
  for (const char* option : {"--record", "--resume"}) {
    const auto refused = cufault({option, folder / "none" / "x"}, {"/bin/sh", "-c", ": >" + ran.string()});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.stderr_text,
              "cufault: " + (folder / "none" / "x").string() + ": No such file or directory\n");
    EXPECT_FALSE(fs::exists(ran));
    EXPECT_EQ(cufault({option, record}, {swept_program}).exit_code, 77);
    EXPECT_FALSE(fs::exists(record)) << "there was nothing to write";
  }
  std::ofstream(record) << "an earlier one\n";
  EXPECT_EQ(cufault({"--record", record}, {swept_program, "report", "fail"}).exit_code, 2);
  EXPECT_EQ(fs::file_size(record), 15U) << "it stays where the command cannot be swept";
  std::ofstream(record).close();
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report"}).exit_code, 0)
      << "an empty file is begun";
  EXPECT_GT(fs::file_size(record), 15U);
  EXPECT_EQ(cufault({"--record", "/dev/null"}, {swept_program, "report"}).exit_code, 0);
}

TEST_F(sweep_program, the_line_of_a_row_repeats_it) {
  const swept seen = sweep({}, {"crash"});
  std::string again;
  for (const json& r : seen.of("row"))
    if (r["outcome"] == "crashed") again = r["again"];
  const std::string inject = "cufault inject ";
  ASSERT_TRUE(again.starts_with(inject)) << again;
  spawn_options shell;
  shell.argv = {"/bin/sh", "-c", "exec " + tested_command + " inject " + again.substr(inject.size())};
  EXPECT_EQ(run_process(shell, {}).signal, SIGSEGV);
}

// ---- interruption ----

class interrupted_sweep : public sweep_program {
 protected:
  [[nodiscard]] fs::path record() const { return folder / "sweep.jsonl"; }
  /// Starts it, and waits until the program hangs.
  void begin(const char* word) {
    const fs::path hangs = folder / "hangs";
    fs::remove(hangs);
    pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      setenv("TMPDIR", (folder / "temporary").c_str(), 1);
      setenv("SWEPT_HANGS", hangs.c_str(), 1);
      become(words_of({"--timeout", "100s", "--record", record(), "-j", "2"}, {swept_program, word}));
    }
    hanging = 0;
    until([&] {
      std::ifstream in(hangs);
      std::string line;
      if (std::getline(in, line) && !in.eof()) hanging = std::stoi(line);  // a whole line
      return hanging != 0;
    });
    ASSERT_NE(hanging, 0);
  }
  static void until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void expect_a_record_that_says_so() const {
    std::ifstream in(record());
    std::string last;
    for (std::string line; std::getline(in, line);) last = line;
    EXPECT_EQ(json::parse(last)["interrupted"], true);
  }

  pid_t pid = 0, hanging = 0;
};

TEST_F(interrupted_sweep, leaves_no_process_and_no_file) {
  begin("hang");
  if (HasFatalFailure()) return;
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(kill(hanging, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  expect_a_record_that_says_so();
}

TEST_F(interrupted_sweep, that_is_killed_leaves_no_process_and_no_file) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const char* word : {"hang_at_once", "hang"}) {  // in a clean run, and in a row
    begin(word);
    if (HasFatalFailure()) return;
    kill(pid, SIGKILL);
    pid_t left = 0;
    until([&left] { return (left = waitpid(-1, nullptr, WNOHANG)) < 0; });  // all are this process's now
    EXPECT_LT(left, 0) << word;
    EXPECT_NE(kill(hanging, 0), 0) << word;
    EXPECT_TRUE(fs::is_empty(folder / "temporary")) << word;
  }
  expect_a_record_that_says_so();
}

TEST_F(sweep_program, an_output_that_nobody_reads_leaves_no_file) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    setenv("TMPDIR", (folder / "temporary").c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    become(words_of({"-j", "2"}, {swept_program, "report", "warn"}));
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  EXPECT_EQ(code, 128 + SIGPIPE);
}

}  // namespace
}  // namespace cufault
