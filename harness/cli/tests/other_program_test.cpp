// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands that run another program: inject, trace, doctor.
#include "harness/cli/tests/end_to_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;

#ifndef SANITIZED  // libcufault.so stands in front of malloc, and a sanitizer wants to
class end_to_end_beside_another_program : public end_to_end {};

TEST_F(end_to_end_beside_another_program, takes_its_words_as_they_are) {
  for (const char* command : {"inject", "trace", "why"}) {
    const auto seen = cufault({command, "--", "printf", "<%s>", "[a,b]", "[]", "", "--", "{}", "--help"});
    EXPECT_EQ(seen.exit_code, 0);
    EXPECT_EQ(seen.stdout_text, "<[a,b]><[]><><--><{}><--help>") << command;
  }
}

TEST_F(end_to_end_beside_another_program, wants_it_behind_dashes) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"inject"},
                                             {"inject", "--"},
                                             {"inject", "echo", "ran"},
                                             {"inject", "echo", "--", "ran"},
                                             {"why"},
                                             {"why", "echo", "ran"},
                                             {"trace"},
                                             {"trace", "echo", "ran"},
                                             {"trace", "echo", "--x", "ran"}}) {
    expect_refused(cufault(words), " behind --, as in: cufault " + words[0]);
  }
}

TEST_F(end_to_end_beside_another_program, refuses_empty_rules_and_a_log_that_cannot_be_written) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--rules", ""}, {"--fail", ""}, {"--fail", " "}, {"--log", ""}})
    expect_refused(cufault({"inject", words[0], words[1], "--", "echo", "ran"}), words[0] + ": is empty");
  expect_refused(cufault({"inject", "--log", folder, "--", "echo"}), folder.string() + ": Is a directory\n");
}

TEST_F(end_to_end_beside_another_program, leaves_rules_of_the_environment_where_it_has_none) {
  const std::map<std::string, std::string> rules{{"CUFAULT_RULES", "/a"}, {"CUFAULT_FAIL", "cuInit=UNKNOWN"}};
  const std::string show = "echo $CUFAULT_RULES $CUFAULT_FAIL";
  EXPECT_EQ(cufault({"inject", "--lenient", "--", "sh", "-c", show}, rules).stdout_text,
            "/a cuInit=UNKNOWN\n");
  EXPECT_EQ(cufault({"inject", "--fail", "cuInit=NO_DEVICE", "--", "sh", "-c", show}, rules).stdout_text,
            "cuInit=NO_DEVICE\n");
  EXPECT_EQ(cufault({"inject", "--", "sh", "-c", show}, rules).exit_code, 2) << "/a is no file";
}

TEST_F(end_to_end_beside_another_program, passes_on_what_would_end_it_and_leaves_no_folder) {
  const std::map<std::string, std::string> state{{"XDG_STATE_HOME", folder / "state"}};
  const auto seen =
      cufault({"trace", "--", "sh", "-c",
               "trap 'echo heard; exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"});
  EXPECT_EQ(seen.exit_code, 5);
  EXPECT_EQ(seen.stdout_text, "heard\n");
  EXPECT_THAT(seen.stderr_text, HasSubstr("driver calls"));
  for (const char* command : {"inject", "trace"}) {
    const auto checkpoint =
        cufault({command, "--", "sh", "-c",
                 "trap 'echo heard; exit 5' USR1; kill -USR1 $PPID; while :; do sleep 0.05; done"});
    EXPECT_EQ(checkpoint.exit_code, 5) << command;
    EXPECT_EQ(checkpoint.stdout_text, "heard\n") << command;
    const auto killed =
        cufault({command, "--", "sh", "-c",
                 "kill -KILL $PPID; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo left"});
    EXPECT_EQ(killed.stdout_text, "") << command << " leaves nothing behind";
    fs::remove_all(folder / "temporary");
    fs::create_directory(folder / "temporary");
  }
  for (const char* command : {"trace", "why"})
    EXPECT_EQ(cufault({command, "--", "sh", "-c", "kill -HUP $PPID; exec sleep 9"}, state).exit_code,
              128 + SIGHUP);
  EXPECT_EQ(cufault({"inject", "--", "sh", "-c", "kill -HUP $PPID; exec sleep 9"}).signal, SIGHUP);
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
}

TEST_F(end_to_end_beside_another_program, leaves_no_folder_where_nobody_reads_what_it_prints) {
  const std::string chrome = folder / "trace.json";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"trace", "--", "true"},
                                             {"trace", "--chrome", chrome, "--", "true"},
                                             {"inject", "--require", "1", "--", "true"}}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    close(ends[0]);
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("TMPDIR", (folder / "temporary").c_str(), 1);
      dup2(ends[1], STDERR_FILENO);
      signal(SIGPIPE, SIG_DFL);
      std::vector<char*> argv{const_cast<char*>(TEST_PROGRAM)};
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(TEST_PROGRAM, argv.data());
      _exit(99);
    }
    close(ends[1]);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << words[0] << " ended with " << status;
    EXPECT_EQ(WTERMSIG(status), SIGPIPE);
    EXPECT_TRUE(fs::is_empty(folder / "temporary")) << words[0];
  }
  fs::remove(chrome);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2) << "its log is gone";
}

TEST_F(end_to_end_beside_another_program, counts_lines_of_a_log_that_it_cannot_read) {
  const auto seen = cufault({"trace", "--", "sh", "-c", "echo half a li > $CUFAULT_LOG; exit 3"});
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_THAT(seen.stderr_text, HasSubstr(" lines of the log could not be read"));
}

TEST_F(end_to_end_beside_another_program, does_not_trace_within_a_trace) {
  const auto seen = cufault({"trace", "--", TEST_PROGRAM, "trace", "--", "true"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("another cufault counts the calls of this process"));
}

TEST_F(end_to_end_beside_another_program, logs_calls_for_a_chrome_trace_in_a_file_of_its_own) {
  const fs::path trace = folder / "here" / "trace.json";
  EXPECT_EQ(cufault({"trace", "--chrome", trace, "--", "true"}).exit_code, 2) << "there is no such folder";
  fs::create_directory(folder / "here");
  EXPECT_EQ(
      cufault({"trace", "--chrome", trace, "--", "sh", "-c", "ls " + (folder / "here").string()}).exit_code,
      0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "here"), fs::directory_iterator()), 1);
}

TEST_F(end_to_end_beside_another_program, wants_a_number_of_actions) {
  for (const char* number : {"-1", "99999999999999999999999", "many"})
    EXPECT_EQ(cufault({"inject", "--require", number, "--", "true"}).exit_code, 2) << number;
}

TEST_F(end_to_end_beside_another_program, says_why_nothing_may_have_been_seen) {
  const auto seen = cufault({"trace", "--", "sh", "-c", "rm -f $CUFAULT_LOG; kill -9 $$"});
  EXPECT_EQ(seen.exit_code, 128 + SIGKILL);
  EXPECT_THAT(seen.stderr_text, HasSubstr("until signal 9"));
  EXPECT_THAT(seen.stderr_text, HasSubstr("the command called no function of the driver"));
  EXPECT_THAT(cufault({"trace", "--", "sh", "-c", "rm -rf $CUFAULT_COUNTS"}).stderr_text,
              HasSubstr("statically linked or setuid"));
}
#endif

}  // namespace
}  // namespace cufault
