// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/process.hpp"

#include "harness/system/child.hpp"
#include "harness/system/children.hpp"
#include "harness/system/unique_fd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <stdexcept>

namespace cufault {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const auto long_enough = milliseconds(60'000);

spawn_options hostile(std::vector<std::string> arguments) {
  spawn_options options;
  options.argv = std::move(arguments);
  options.argv.insert(options.argv.begin(), HOSTILE_CHILD);
  options.timeout = long_enough;
  return options;
}

process_result run(const spawn_options& options, int stop = -1) {
  return run_process(options, nullptr, stop);
}

// Lines "pid N" of a text.
std::vector<pid_t> pids_in(const std::string& text) {
  std::vector<pid_t> pids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("pid ")) pids.push_back(std::stoi(line.substr(4)));
  }
  return pids;
}

bool is_gone(pid_t pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}

void expect_all_gone(const process_result& result, std::size_t count) {
  const auto pids = pids_in(result.stdout_text);
  EXPECT_EQ(pids.size(), count);
  for (const auto pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_TRUE(children_of_this_process().empty());
}

TEST(process, tells_the_exit_code) {
  const auto result = run(hostile({"exit", "42"}));
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.exit_code, 42);
  EXPECT_EQ(result.stragglers, 0);
  EXPECT_GT(result.milliseconds, 0);
}

TEST(process, tells_the_signal) {
  for (const auto& [name, number] : {std::pair{"segv", SIGSEGV}, {"abort", SIGABRT}, {"kill", SIGKILL}}) {
    const auto result = run(hostile({"die", name, "outside"}));
    EXPECT_EQ(result.how, ending::signalled);
    EXPECT_EQ(result.signal, number);
  }
}

TEST(process, passes_on_what_is_reported_and_nothing_else) {
  std::string reported;
  const auto result =
      run_process(hostile({"say", "not_provoked", "why"}), [&](auto bytes) { reported += bytes; });
  EXPECT_EQ(reported, "CF1 32\n{\"t\":\"not_provoked\",\"why\":\"why\"}\nCF1 12\n{\"t\":\"done\"}\n");
  EXPECT_EQ(result.stdout_text, "");
}

TEST(process, that_cannot_be_started_is_named) {
  spawn_options options;
  options.argv = {"/nowhere/trial"};
  try {
    run(options);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/trial"));
  }
  EXPECT_THROW(run({}), std::invalid_argument);
}

TEST(process, that_hangs_is_ended_at_its_deadline) {
  auto options = hostile({"hang"});
  options.timeout = milliseconds(1000);
  const auto result = run(options);
  EXPECT_EQ(result.how, ending::timed_out);
  EXPECT_GE(result.milliseconds, 1000);
  expect_all_gone(result, 1);
}

TEST(process, that_stopped_itself_is_ended_at_its_deadline) {
  auto options = hostile({"stop_itself"});
  options.timeout = milliseconds(1000);
  const auto result = run(options);
  EXPECT_EQ(result.how, ending::timed_out);
  expect_all_gone(result, 1);
}

// Runs a program that reports when it is ready, and stops it then.
process_result stopped_when_ready(std::vector<std::string> arguments) {
  std::array<int, 2> stop{};
  EXPECT_EQ(pipe2(stop.data(), O_CLOEXEC), 0);
  const unique_fd read_end(stop[0]), write_end(stop[1]);
  return run_process(
      hostile(std::move(arguments)), [&](std::string_view) { EXPECT_EQ(write(stop[1], "x", 1), 1); },
      stop[0]);
}

TEST(process, is_ended_when_stop_becomes_readable) {
  const auto result = stopped_when_ready({"hang", "in_call"});
  EXPECT_EQ(result.how, ending::interrupted);
  EXPECT_EQ(result.stragglers, 0);
  expect_all_gone(result, 1);
}

TEST(process, is_ended_with_its_whole_family) {
  const auto result = stopped_when_ready({"hang_with_family"});
  EXPECT_EQ(result.how, ending::interrupted);
  EXPECT_EQ(result.stragglers, 2);
  expect_all_gone(result, 3);
}

TEST(process, that_left_its_group_for_ours_is_ended_and_we_are_not) {
  const auto result = stopped_when_ready({"leave_group", std::to_string(getpgrp())});
  EXPECT_EQ(result.how, ending::interrupted);
  expect_all_gone(result, 1);
}

TEST(process, that_leaves_a_grandchild_with_open_pipes_is_not_waited_for) {
  const auto result = run(hostile({"leave_grandchild"}));
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_LT(result.milliseconds, static_cast<double>(long_enough.count()));
  EXPECT_EQ(result.stragglers, 1);
  expect_all_gone(result, 1);
}

TEST(process, that_leaves_a_daemon_of_another_session_leaves_nothing) {
  const auto result = run(hostile({"leave_escaped"}));
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.stragglers, 1);
  expect_all_gone(result, 1);
}

TEST(process, whose_child_ended_before_it_leaves_no_straggler) {
  const auto result = run(hostile({"leave_zombie"}));
  EXPECT_EQ(result.stragglers, 0);
  expect_all_gone(result, 0);
}

TEST(process, whose_child_was_killed_before_it_ended_leaves_no_straggler) {
  spawn_options options;
  options.argv = {"/bin/sh", "-c", "sleep 100 & kill -KILL $!"};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(options).stragglers, 0);
}

TEST(process, does_not_touch_children_that_we_had_before) {
  std::array<int, 2> hold{};
  ASSERT_EQ(pipe2(hold.data(), O_CLOEXEC), 0);
  const pid_t older = fork();
  if (older == 0) {
    close(hold[1]);
    char byte = 0;
    _exit(read(hold[0], &byte, 1) == 0 ? 5 : 6);  // until the test closes the pipe
  }
  const auto result = run(hostile({"leave_escaped"}));
  EXPECT_EQ(result.stragglers, 1);
  close(hold[0]);
  close(hold[1]);
  int status = 0;
  ASSERT_EQ(waitpid(older, &status, 0), older);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

TEST(process, that_writes_much_everywhere_at_once_is_read_to_its_end) {
  std::size_t reported = 0;
  const auto result =
      run_process(hostile({"write_much", "10000000"}), [&](auto bytes) { reported += bytes.size(); });
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_GT(reported, 500'000u);
  for (const auto& text : {result.stdout_text, result.stderr_text}) {
    EXPECT_LT(text.size(), 66u * 1024);
    EXPECT_THAT(text, StartsWith("ooo"));
    EXPECT_THAT(text, HasSubstr("\n... 9934478 bytes left out ...\n"));
  }
  EXPECT_THAT(result.stdout_text, EndsWith("end of stdout\n"));
  EXPECT_THAT(result.stderr_text, EndsWith("end of stderr\n"));
}

TEST(process, output_that_just_fits_is_kept_whole) {
  auto options = hostile({"environment", "A", "B"});
  options.environment = {{"A", "1"}, {"B", "2"}};
  options.keep_output = 8;
  EXPECT_EQ(run(options).stdout_text, "A=1\nB=2\n");
  options.keep_output = 7;
  EXPECT_EQ(run(options).stdout_text, "A=1\n... 1 bytes left out ...\nB=2\n");
  options.keep_output = 0;
  EXPECT_EQ(run(options).stdout_text, "\n... 8 bytes left out ...\n");
}

TEST(process, that_closes_its_reports_early_is_still_waited_for) {
  const auto result = run(hostile({"close_reports"}));
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.stdout_text, "still here\n");
}

TEST(process, gets_our_environment_with_changes) {
  ASSERT_EQ(setenv("CUFAULT_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("CUFAULT_TEST_CHANGED", "old", 1), 0);
  ASSERT_EQ(setenv("CUFAULT_TEST_UNSET", "set", 1), 0);
  auto options = hostile({"environment", "CUFAULT_TEST_KEPT", "CUFAULT_TEST_CHANGED", "CUFAULT_TEST_UNSET"});
  options.environment = {{"CUFAULT_TEST_CHANGED", "new=er"}, {"CUFAULT_TEST_UNSET", ""}};
  EXPECT_EQ(run(options).stdout_text,
            "CUFAULT_TEST_KEPT=kept\nCUFAULT_TEST_CHANGED=new=er\nCUFAULT_TEST_UNSET is unset\n");
  EXPECT_STREQ(getenv("CUFAULT_TEST_CHANGED"), "old");
}

TEST(process, gets_its_libraries_in_front_of_those_preloaded_already) {
  auto options = hostile({"environment", "LD_PRELOAD"});
  options.preload = {"/nowhere/a.so", "/nowhere/b.so"};
  EXPECT_EQ(run(options).stdout_text, "LD_PRELOAD=/nowhere/a.so:/nowhere/b.so\n");
  options.environment = {{"LD_PRELOAD", "/nowhere/c.so"}};
  EXPECT_EQ(run(options).stdout_text, "LD_PRELOAD=/nowhere/a.so:/nowhere/b.so:/nowhere/c.so\n");
}

TEST(process, gets_no_descriptor_of_ours) {
  const unique_fd leaky(open("/dev/null", O_RDONLY));  // as if inherited without close-on-exec
  const unique_fd high(fcntl(leaky.get(), F_DUPFD, 200));
  ASSERT_TRUE(high);
  EXPECT_EQ(run(hostile({"descriptors"})).stdout_text, "fd 0\nfd 1\nfd 2\nfd 3\nstdin /dev/null\n");
}

TEST(process, gets_its_descriptors_also_where_we_have_no_stdin) {
  const unique_fd kept(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
  ASSERT_TRUE(kept);
  close(STDIN_FILENO);
  std::string reported;
  const auto result = run_process(hostile({"descriptors"}), nullptr);
  run_process(hostile({"exit", "0", "done"}), [&](auto bytes) { reported += bytes; });
  dup2(kept.get(), STDIN_FILENO);
  EXPECT_EQ(result.stdout_text, "fd 0\nfd 1\nfd 2\nfd 3\nstdin /dev/null\n");
  EXPECT_EQ(reported, "CF1 12\n{\"t\":\"done\"}\n");
}

TEST(process, gets_default_signals_and_a_group_of_its_own) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  const auto result = run(hostile({"signals"}));
  signal(SIGPIPE, pipe_before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  // posix_spawn(3) leaves glibc's own signals, 32 and 33, ignored; programs cannot use them anyway.
  EXPECT_THAT(result.stdout_text,
              testing::MatchesRegex("SigBlk:\t0000000000000000\nSigIgn:\t0000000[01][08]0000000\n"
                                    "SigCgt:\t0000000000000000\nown group\n"));
}

TEST(process, is_told_to_us_also_where_sigchld_is_ignored) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const auto result = run(hostile({"exit", "42"}));
  EXPECT_EQ(signal(SIGCHLD, before), SIG_IGN) << "not restored";
  EXPECT_EQ(result.exit_code, 42);
}

TEST(process, is_ended_when_its_reader_throws) {
  pid_t pid = 0;
  const auto throwing = [&](std::string_view) {
    const auto children = children_of_this_process();
    if (!children.empty()) pid = *children.begin();
    throw std::runtime_error("enough");
  };
  EXPECT_THROW(run_process(hostile({"hang", "in_call"}), throwing), std::runtime_error);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(children_of_this_process().empty());
}

TEST(process, leaves_no_descriptor_open) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  run(hostile({"exit", "0"}));
  const auto before = open_descriptors();
  for (int i = 0; i < 5; ++i) run(hostile({"exit", "0"}));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(process, works_without_pidfd) {
  spawn_options options;
  options.argv = {RUNNER_HOST, "no_pidfd"};
  const auto result = run(options);
  if (result.exit_code == 77) GTEST_SKIP() << "no seccomp filter allowed here";
  EXPECT_EQ(result.stdout_text, "7 timed out 2\n") << result.stderr_text;
}

TEST(process, tied_to_its_parent_dies_with_it) {
  std::array<int, 2> out{};
  ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  const unique_fd read_end(out[0]);
  const pid_t host = fork();
  if (host == 0) {
    dup2(out[1], STDOUT_FILENO);
    execl(RUNNER_HOST, RUNNER_HOST, "host", nullptr);
    _exit(99);
  }
  close(out[1]);
  std::string line;
  for (char byte = 0; line.find('\n') == line.npos && read(out[0], &byte, 1) == 1;) line += byte;
  const auto pids = pids_in(line);
  ASSERT_EQ(pids.size(), 1u) << line;
  const unique_fd trial(static_cast<int>(syscall(SYS_pidfd_open, pids[0], 0)));
  ASSERT_TRUE(trial) << strerror(errno);

  kill(host, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(host, &status, 0), host);
  pollfd ended{trial.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, static_cast<int>(long_enough.count())), 1) << "the trial has outlived its parent";
  // If an earlier test made us a subreaper, it became our child.
  waitpid(pids[0], nullptr, 0);
}

TEST(process, tied_to_a_parent_that_is_gone_already_ends_at_once) {
  spawn_options options;
  options.argv = {RUNNER_HOST, "tied", std::to_string(getppid())};  // not its parent
  std::string reported;
  const auto result = run_process(options, [&](auto bytes) { reported += bytes; });
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(reported, "");
}

TEST(children, are_found_in_both_ways) {
  EXPECT_TRUE(children_from_stat().empty());
  std::array<int, 2> hold{};
  ASSERT_EQ(pipe2(hold.data(), O_CLOEXEC), 0);
  std::set<pid_t> started;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(hold[1]);
      char byte = 0;
      _exit(i == 0 ? 0 : static_cast<int>(read(hold[0], &byte, 1)));  // the first is a zombie soon
    }
    started.insert(pid);
  }
  EXPECT_EQ(children_from_stat(), started);
  EXPECT_EQ(children_from_tasks().value_or(started), started);
  close(hold[0]);
  close(hold[1]);
  for (const auto pid : started) waitpid(pid, nullptr, 0);
}

TEST(interrupts, become_a_readable_descriptor) {
  const interrupt_guard guard;
  pollfd waiting{guard.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  EXPECT_EQ(guard.signal(), 0);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_EQ(poll(&waiting, 1, 0), 1);
  EXPECT_EQ(poll(&waiting, 1, 0), 1) << "only once";
  EXPECT_EQ(guard.signal(), SIGTERM) << "the first one is the reason";
}

TEST(interrupts, come_from_an_output_that_nobody_reads_unless_it_is_a_forked_child_s) {
  const interrupt_guard guard;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  pollfd waiting{guard.descriptor(), POLLIN, 0};
  const int child = wait_for(fork_child([&] { static_cast<void>(!write(ends[1], "a", 1)); }));
  ASSERT_TRUE(WIFSIGNALED(child));
  EXPECT_EQ(WTERMSIG(child), SIGPIPE);
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  EXPECT_EQ(write(ends[1], "a", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(poll(&waiting, 1, 0), 1);
  EXPECT_EQ(guard.signal(), SIGPIPE);
  close(ends[1]);
}

TEST(interrupts, end_a_process) {
  const interrupt_guard guard;
  const auto result = run_process(
      hostile({"hang", "in_call"}), [](std::string_view) { raise(SIGINT); }, guard.descriptor());
  EXPECT_EQ(result.how, ending::interrupted);
  expect_all_gone(result, 1);
}

TEST(interrupts, are_ignored_where_they_were_before) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    const interrupt_guard guard;
    raise(SIGHUP);
    EXPECT_EQ(guard.signal(), 0);
  }
  EXPECT_EQ(signal(SIGHUP, before), SIG_IGN);
}

TEST(interrupts, are_guarded_once_and_given_back) {
  struct sigaction before {
  }, now{};
  sigaction(SIGINT, nullptr, &before);
  {
    const interrupt_guard guard;
    EXPECT_THROW(interrupt_guard(), std::logic_error);
    raise(SIGINT);
  }
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  const interrupt_guard next;
  EXPECT_EQ(next.signal(), 0);
}

}  // namespace
}  // namespace cufault
