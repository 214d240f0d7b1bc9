// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

namespace cufault {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using words = std::vector<std::string>;

const failure_case a_case{.name = "memory.hostile", .failures = {"F-MEM-01"}};

arm host_arm() {
  arm a;
  a.name = "fault";
  a.summary = "hostile";
  a.claims = {"S0-1"};
  a.needs = need::host;
  return a;
}

runner_options running(words arguments) {
  runner_options options;
  arguments.insert(arguments.begin(), HOSTILE_CHILD);
  options.command = [=](const failure_case&, const arm&, auto, int) { return arguments; };
  return options;
}

observation seen_by(words arguments) {
  return run_trial(a_case, host_arm(), std::nullopt, 0, running(std::move(arguments)));
}

void expect_harness_failed(const observation& o, const std::string& why) {
  EXPECT_EQ(o.ended, outcome::harness_failed);
  EXPECT_THAT(o.why, HasSubstr(why));
}

std::string api_in_flight(const observation& o) {
  const call_record* const call = call_in_flight(o);
  return call != nullptr ? call->what.name.api : "";
}

TEST(trial, that_ends_well_is_completed) {
  const auto o = seen_by({"normal"});
  EXPECT_EQ(o.ended, outcome::completed) << o.why;
  EXPECT_EQ(o.why, "");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.signal, std::nullopt);
  EXPECT_EQ(o.context, "usable");
  EXPECT_EQ(o.applied, "free the memory, create again");
  ASSERT_EQ(o.calls.size(), 2u);
  EXPECT_EQ(o.calls[0].what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(o.calls[1].what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_GT(o.milliseconds, 0);
}

TEST(trial, is_told_its_arm_and_level) {
  runner_options options;
  std::string told;
  options.command = [&](const failure_case& c, const arm& a, std::optional<std::int64_t> level, int repeat) {
    told = c.name + " " + a.name + " " + std::to_string(level.value_or(-1)) + " " + std::to_string(repeat);
    return words{HOSTILE_CHILD, "environment", "CUFAULT_A", "LD_PRELOAD"};
  };
  auto a = host_arm();
  a.environment = {{"CUFAULT_A", "b"}};
  a.preload = {"/nowhere/injector.so"};
  const auto o = run_trial(a_case, a, 12, 3, options);
  EXPECT_EQ(told, "memory.hostile fault 12 3");
  EXPECT_EQ(o.level, 12);
  EXPECT_EQ(o.stdout_text, "CUFAULT_A=b\nLD_PRELOAD=/nowhere/injector.so\n");
}

TEST(trial, that_was_killed_from_outside_says_nothing_about_the_library) {
  const auto o = seen_by({"die", "kill", "in_call"});
  EXPECT_EQ(o.ended, outcome::harness_failed);
  EXPECT_EQ(o.signal, SIGKILL);
  EXPECT_EQ(o.why, "the trial died of SIGKILL, from outside");
}

TEST(trial, that_dies_inside_a_call_has_crashed) {
  for (const auto& [name, number, text] :
       {std::tuple{"segv", SIGSEGV, "SIGSEGV"}, {"abort", SIGABRT, "SIGABRT"}}) {
    const auto o = seen_by({"die", name, "in_call"});
    EXPECT_EQ(o.ended, outcome::crashed);
    EXPECT_EQ(o.signal, number);
    EXPECT_EQ(o.exit_code, std::nullopt);
    EXPECT_EQ(o.why, text);
    EXPECT_EQ(api_in_flight(o), "cublasDestroy");
    ASSERT_EQ(o.calls.size(), 2u);
    EXPECT_EQ(o.calls[1].what.status, "");
    EXPECT_TRUE(failed(signature_of(o)));
  }
}

TEST(trial, that_dies_after_it_was_done_has_crashed) {
  const auto o = seen_by({"die", "segv", "after_done"});
  EXPECT_EQ(o.ended, outcome::crashed);
  EXPECT_EQ(o.why, "SIGSEGV");
  EXPECT_EQ(api_in_flight(o), "");
}

TEST(trial, that_dies_outside_a_call_proves_nothing) {
  const auto o = seen_by({"die", "segv", "outside"});
  expect_harness_failed(o, "died of SIGSEGV outside an observed call");
  EXPECT_EQ(o.calls.size(), 1u) << "what it saw is kept";
}

TEST(trial, that_exits_inside_a_call_has_crashed) {
  const auto o = seen_by({"exit_in_call", "3"});
  EXPECT_EQ(o.ended, outcome::crashed);
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_EQ(api_in_flight(o), "cublasDestroy");
  EXPECT_EQ(signature_of(o).outcome, "crashed: exit 3 in cublasDestroy");
  EXPECT_EQ(seen_by({"exit_in_call", "0"}).ended, outcome::crashed);
}

TEST(trial, that_exits_before_it_is_done_proves_nothing) {
  expect_harness_failed(seen_by({"exit", "0"}), "exited with 0 before it was done");
  expect_harness_failed(seen_by({"exit", "4"}), "exited with 4 before it was done");
}

TEST(trial, that_is_done_and_fails_proves_nothing) {
  expect_harness_failed(seen_by({"exit", "4", "done"}), "exited with 4 though it was done");
  EXPECT_EQ(seen_by({"exit", "0", "done"}).ended, outcome::completed);
}

TEST(trial, that_hangs_is_timed_out) {
  auto a = host_arm();
  a.timeout = std::chrono::seconds(1);
  const auto inside = run_trial(a_case, a, std::nullopt, 0, running({"hang", "in_call"}));
  EXPECT_EQ(inside.ended, outcome::timed_out);
  EXPECT_EQ(api_in_flight(inside), "cublasCreate");
  EXPECT_EQ(inside.exit_code, std::nullopt);
  EXPECT_EQ(inside.signal, std::nullopt);
  EXPECT_TRUE(comparable(inside));
  const auto outside = run_trial(a_case, a, std::nullopt, 0, running({"hang"}));
  EXPECT_EQ(outside.ended, outcome::timed_out);
  EXPECT_EQ(api_in_flight(outside), "");
  EXPECT_FALSE(comparable(outside));
  const auto stopped = run_trial(a_case, a, std::nullopt, 0, running({"stop_itself"}));
  EXPECT_EQ(stopped.ended, outcome::timed_out);
}

TEST(trial, whose_reports_are_garbled_proves_nothing) {
  const auto o = seen_by({"garbage"});
  expect_harness_failed(o, "garbled report: byte 1 of a frame is 0x55");
  EXPECT_EQ(o.calls.size(), 1u);
  expect_harness_failed(seen_by({"absurd_length"}), "garbled report: a frame of more than 7 digits");
}

TEST(trial, whose_last_report_is_cut_short_proves_nothing) {
  expect_harness_failed(seen_by({"cut_short"}), "cut short; the trial exited with 0");
}

TEST(trial, that_closes_its_reports_early_proves_nothing) {
  expect_harness_failed(seen_by({"close_reports"}), "exited with 0 before it was done");
}

TEST(trial, that_leaves_processes_proves_nothing) {
  expect_harness_failed(seen_by({"leave_grandchild"}), "left 1 processes running");
  expect_harness_failed(seen_by({"leave_escaped"}), "left 1 processes running");
  EXPECT_EQ(seen_by({"leave_zombie"}).ended, outcome::completed);
}

TEST(trial, that_writes_much_is_completed) {
  const auto o = seen_by({"write_much", "10000000"});
  EXPECT_EQ(o.ended, outcome::completed) << o.why;
  EXPECT_EQ(o.library_log.size(), 1000u);
  EXPECT_THAT(o.stdout_text, HasSubstr("bytes left out"));
}

TEST(trial, that_says_so_is_not_provoked_or_has_failed) {
  const auto o = seen_by({"say", "not_provoked", "only 3 MiB free"});
  EXPECT_EQ(o.ended, outcome::not_provoked);
  EXPECT_EQ(o.why, "only 3 MiB free");
  EXPECT_EQ(o.exit_code, 0);
  expect_harness_failed(seen_by({"say", "harness_failed", "no kernels"}), "no kernels");
}

TEST(trial, that_says_so_and_dies_proves_nothing) {
  expect_harness_failed(seen_by({"die", "segv", "after_not_provoked"}),
                        "too little memory; then the trial died of SIGSEGV before it was done");
}

TEST(trial, that_cannot_be_started_proves_nothing) {
  runner_options options;
  options.command = [](const auto&...) { return words{"/nowhere/trial"}; };
  expect_harness_failed(run_trial(a_case, host_arm(), 7, 0, options), "/nowhere/trial");
}

TEST(trial, without_a_folder_of_its_own_proves_nothing) {
  const char* usual = getenv("TMPDIR");
  const std::string before = usual != nullptr ? usual : "";
  setenv("TMPDIR", "/nonexistent", 1);
  const auto o = run_trial(a_case, host_arm(), 7, 0, running({"normal"}));
  usual != nullptr ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  expect_harness_failed(o, "no temporary folder can be made (TMPDIR=/nonexistent): ");
  EXPECT_EQ(o.level, 7);
}

TEST(trial, prints_paths_of_this_cufault_that_records_do_not_tell) {
  runner_options options;
  options.own_paths = {"/opt/cufault/share/cufault/frameworks", "/opt/cufault/bin/cufault"};
  options.command = [](const auto&...) {
    return words{"/bin/sh", "-c",
                 "echo /opt/cufault/bin/cufault: no; echo '/opt/cufault/share/cufault/frameworks/a.py:1: "
                 "\"/opt/cufault/share/cufault/frameworks\"' >&2"};
  };
  const auto o = run_trial(a_case, host_arm(), 7, 0, options);
  EXPECT_EQ(o.stdout_text, "<cufault>: no\n");
  EXPECT_EQ(o.stderr_text, "<cufault>/a.py:1: \"<cufault>\"\n");
  for (const char* other : {"/mnt/opt/cufault/bin/cufault", "/opt/cufault/bin/cufault2",
                            "/opt/cufault/bin/cufault.py", "/opt/cufault", ""})
    EXPECT_EQ(without_own_paths(other, options.own_paths), other);
  EXPECT_EQ(without_own_paths("/a/b", {"/", ""}), "/a/b");
}

TEST(trial, that_is_interrupted_is_no_observation) {
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe2(stop.data(), O_CLOEXEC), 0);
  ASSERT_EQ(write(stop[1], "x", 1), 1);
  auto options = running({"hang"});
  options.stop = stop[0];
  EXPECT_THROW(run_trial(a_case, host_arm(), std::nullopt, 0, options), interrupted);
  close(stop[0]);
  close(stop[1]);
}

// Device memory in use, one sample after another; the last one stays.
memory_in_use samples(std::vector<std::optional<std::uint64_t>> values) {
  return [values, next = std::size_t{0}]() mutable { return values[std::min(next++, values.size() - 1)]; };
}

observation with_memory(std::vector<std::optional<std::uint64_t>> values, words arguments = {"normal"},
                        need needs = need::gpu,
                        std::chrono::milliseconds settle = std::chrono::milliseconds(100)) {
  auto options = running(std::move(arguments));
  options.in_use = samples(std::move(values));
  options.memory_slack_bytes = 10;
  options.memory_settle = settle;
  auto a = host_arm();
  a.needs = needs;
  return run_trial(a_case, a, std::nullopt, 0, options);
}

TEST(device_memory, that_stays_as_it_was_changes_nothing) {
  EXPECT_EQ(with_memory({1000, 1010}).ended, outcome::completed);
  EXPECT_EQ(with_memory({1000, 990}).ended, outcome::completed);
}

TEST(device_memory, that_moved_makes_a_trial_inconclusive) {
  const auto grown = with_memory({1000, 1011});
  EXPECT_EQ(grown.ended, outcome::not_provoked);
  EXPECT_THAT(grown.why, HasSubstr("grew by 11 bytes"));
  const auto shrunk = with_memory({1000, 500}, {"die", "segv", "in_call"});
  EXPECT_EQ(shrunk.ended, outcome::not_provoked);
  EXPECT_THAT(shrunk.why, AllOf(HasSubstr("SIGSEGV"), HasSubstr("shrank by 500 bytes")));
}

TEST(device_memory, may_take_a_while_to_come_back) {
  EXPECT_EQ(with_memory({1000, 5000, 4000, 1000}, {"normal"}, need::gpu, std::chrono::seconds(1)).ended,
            outcome::completed);
}

TEST(device_memory, that_moved_excuses_no_harness_failure) {
  const auto o = with_memory({1000, 5000}, {"garbage"});
  expect_harness_failed(o, "garbled");
  EXPECT_THAT(o.why, HasSubstr("grew by 4000 bytes"));
}

TEST(device_memory, that_cannot_be_read_is_not_compared) {
  EXPECT_EQ(with_memory({std::nullopt}).ended, outcome::completed);
  const auto lost = with_memory({1000, std::nullopt});
  EXPECT_EQ(lost.ended, outcome::not_provoked);
  EXPECT_THAT(lost.why, HasSubstr("could be read before the trial, but not after it"));
}

std::size_t trials_of_an_arm_with_memory(memory_in_use in_use, outcome* ended,
                                         std::chrono::milliseconds settle = std::chrono::milliseconds(100)) {
  auto options = running({"normal"});
  options.in_use = std::move(in_use);
  options.memory_slack_bytes = 10;
  options.memory_settle = settle;
  options.memory_rest = std::chrono::milliseconds(50);
  std::size_t begun = 0;
  options.command = [&](const auto&, const auto&, auto, int) {
    ++begun;
    return words{HOSTILE_CHILD, "normal"};
  };
  auto a = host_arm();
  a.needs = need::gpu;
  const auto result = run_arm(a_case, a, options);
  EXPECT_EQ(result.trials.size(), 1U);
  *ended = result.trials.at(0).ended;
  return begun;
}

TEST(device_memory, that_moved_once_costs_a_second_trial) {
  outcome ended{};
  EXPECT_EQ(trials_of_an_arm_with_memory(samples({1000, 5000}), &ended), 2U);
  EXPECT_EQ(ended, outcome::completed);
}

// It falls for longer than the wait after the first trial: a second trial that began at once would see it move, too.
TEST(device_memory, is_at_rest_before_the_second_trial) {
  outcome ended{};
  const auto begun = std::chrono::steady_clock::now();
  const auto falls = [&]() -> std::uint64_t {
    const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - begun;
    return 1'000'000 - static_cast<std::uint64_t>(1'000 * std::min(since.count(), 500.));
  };
  EXPECT_EQ(trials_of_an_arm_with_memory(falls, &ended, std::chrono::milliseconds(400)), 2U);
  EXPECT_EQ(ended, outcome::completed);
}

TEST(device_memory, that_cannot_be_read_after_a_trial_makes_no_second_one) {
  outcome ended{};
  EXPECT_EQ(trials_of_an_arm_with_memory(samples({1000, std::nullopt}), &ended), 1U);
  EXPECT_EQ(ended, outcome::not_provoked);
}

TEST(device_memory, that_does_not_come_to_rest_leaves_the_last_trial_inconclusive) {
  outcome ended{};
  std::uint64_t grows = 1000;
  EXPECT_EQ(trials_of_an_arm_with_memory([&] { return grows += 1000; }, &ended), 4U);
  EXPECT_EQ(ended, outcome::not_provoked);
}

// A driver returns memory late: it is at rest for a while, and moves again in the second trial.
TEST(device_memory, that_moves_in_two_trials_costs_a_third) {
  auto options = running({});
  std::size_t begun = 0;
  options.command = [&](const auto&, const auto&, auto, int) {
    ++begun;
    return words{HOSTILE_CHILD, "normal"};
  };
  options.in_use = [&] { return 10'000 - 1'000 * std::min<std::size_t>(begun, 2); };
  options.memory_slack_bytes = 10;
  options.memory_settle = options.memory_rest = std::chrono::milliseconds(50);
  auto a = host_arm();
  a.needs = need::gpu;
  const auto result = run_arm(a_case, a, options);
  ASSERT_EQ(result.trials.size(), 1U);
  EXPECT_EQ(result.trials.at(0).ended, outcome::completed);
  EXPECT_EQ(begun, 3U);
}

/// An arm whose first `moving` trials report that memory moved. Returns the observation, and the number of trials begun.
std::pair<observation, std::size_t> told_that_memory_moved(std::size_t moving) {
  auto options = running({});
  options.memory_rest = std::chrono::milliseconds(50);
  std::size_t begun = 0;
  options.command = [&](const auto&, const auto&, auto, int) {
    return begun++ < moving ? words{HOSTILE_CHILD, "say", "memory_moved", "4 MiB became free"}
                            : words{HOSTILE_CHILD, "normal"};
  };
  return {run_arm(a_case, host_arm(), options).trials.at(0), begun};
}

TEST(device_memory, that_moved_as_the_trial_says_costs_a_second_trial_after_a_while) {
  const auto start = std::chrono::steady_clock::now();
  const auto [seen, begun] = told_that_memory_moved(1);
  EXPECT_EQ(seen.ended, outcome::completed);
  EXPECT_EQ(begun, 2U);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
}

TEST(device_memory, that_moves_in_each_trial_is_looked_at_four_times) {
  const auto [seen, begun] = told_that_memory_moved(100);
  EXPECT_EQ(seen.ended, outcome::not_provoked);
  EXPECT_EQ(begun, 4U);
}

/// Runs an arm whose trials run hostile_child with these words in turn, then with the last ones. Returns the observation and the number of
/// trials begun.
std::pair<observation, std::size_t> seen_of_trials(const std::vector<words>& in_turn,
                                                   std::chrono::seconds timeout = std::chrono::seconds(30)) {
  auto options = running({});
  std::size_t begun = 0;
  options.command = [&](const auto&, const auto&, auto, int) {
    words command = in_turn.at(std::min(begun++, in_turn.size() - 1));
    command.insert(command.begin(), HOSTILE_CHILD);
    return command;
  };
  auto a = host_arm();
  a.timeout = timeout;
  return {run_arm(a_case, a, options).trials.at(0), begun};
}

words statuses_of(const observation& o) {
  words statuses;
  for (const call_record& call : o.calls) statuses.push_back(call.what.status);
  return statuses;
}

TEST(row_of_a_table, that_timed_out_once_costs_a_second_trial_which_counts) {
  const auto [seen, begun] = seen_of_trials({{"row_timed_out"}, {"normal"}});
  EXPECT_THAT(statuses_of(seen), ElementsAre("CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_SUCCESS"));
  EXPECT_EQ(begun, 2U);
}

TEST(row_of_a_table, that_times_out_again_is_what_was_seen) {
  const auto [seen, begun] = seen_of_trials({{"row_timed_out"}});
  EXPECT_THAT(statuses_of(seen), ElementsAre("TIMED_OUT"));
  EXPECT_EQ(begun, 2U);
}

TEST(trial_that_ran_out_of_time, outside_of_a_call_is_run_again) {
  const words late{"say", "out_of_time", "row 3: timed out outside of a call"};
  const auto [once, begun] = seen_of_trials({late, {"normal"}});
  EXPECT_EQ(once.ended, outcome::completed);
  EXPECT_EQ(begun, 2U);
  const auto [again, trials] = seen_of_trials({late});
  EXPECT_EQ(trials, 2U);
  expect_harness_failed(again, "row 3: timed out outside of a call");
  const auto [before, both] = seen_of_trials({{"hang"}}, std::chrono::seconds(1));
  EXPECT_EQ(both, 2U);
  EXPECT_TRUE(ran_out_of_time(before));
}

TEST(trial_that_ran_out_of_time, in_a_call_is_not) {
  const auto [seen, begun] = seen_of_trials({{"hang", "in_call"}}, std::chrono::seconds(1));
  EXPECT_EQ(begun, 1U);
  EXPECT_EQ(seen.ended, outcome::timed_out);
  EXPECT_EQ(api_in_flight(seen), "cublasCreate");
}

TEST(row_of_a_table, that_ends_costs_no_second_trial) {
  EXPECT_EQ(seen_of_trials({{"normal"}, {"row_timed_out"}}).second, 1U);
}

TEST(device_memory, is_not_looked_at_for_host_arms) {
  EXPECT_EQ(with_memory({1000, 5000}, {"normal"}, need::host).ended, outcome::completed);
}

TEST(arm_run, carries_what_the_case_says) {
  const auto result = run_arm(a_case, host_arm(), running({"normal"}));
  EXPECT_EQ(result.name, "fault");
  EXPECT_EQ(result.kind, arm_kind::fault);
  EXPECT_EQ(result.summary, "hostile");
  EXPECT_THAT(result.claims, ElementsAre("S0-1"));
  EXPECT_FALSE(result.made_up);
  ASSERT_EQ(result.trials.size(), 1u);
  EXPECT_EQ(result.trials[0].level, std::nullopt);
}

TEST(arm_run, says_of_faults_that_they_are_made_up) {
  auto made_up = a_case;
  made_up.made_up = true;
  EXPECT_TRUE(result_of(made_up, host_arm()).made_up);
  auto control = host_arm();
  control.kind = arm_kind::control;
  EXPECT_FALSE(result_of(made_up, control).made_up);
  auto stand_in = host_arm();
  stand_in.made_up = true;
  EXPECT_TRUE(result_of(a_case, stand_in).made_up) << "one arm of a case that has natural ones, too";
  EXPECT_TRUE(is_made_up(result_of(a_case, stand_in)));
  auto counterpart = host_arm();
  counterpart.counterpart_of = "fault";
  EXPECT_TRUE(is_made_up(result_of(a_case, counterpart)));
  EXPECT_FALSE(is_made_up(result_of(a_case, host_arm())));
}

TEST(arm_run, repeats_its_trials) {
  auto a = host_arm();
  a.repeats = 3;
  auto options = running({"normal"});
  std::vector<int> repeats;
  options.command = [&](const auto&, const auto&, auto, int repeat) {
    repeats.push_back(repeat);
    return words{HOSTILE_CHILD, "normal"};
  };
  EXPECT_EQ(run_arm(a_case, a, options).trials.size(), 3u);
  EXPECT_THAT(repeats, ElementsAre(0, 1, 2));
}

TEST(arm_run, without_a_gpu_says_why) {
  auto options = running({"normal"});
  options.command = [](const auto&...) -> words { throw std::logic_error("must not run"); };
  options.no_gpu = "no driver";
  auto a = host_arm();
  a.needs = need::gpu;
  a.levels = level_range{"MiB", {1, 2}, 0};
  const auto result = run_arm(a_case, a, options);
  ASSERT_EQ(result.trials.size(), 1u);
  EXPECT_EQ(result.trials[0].ended, outcome::not_provoked);
  EXPECT_EQ(result.trials[0].why, "no GPU: no driver");
  options.command = running({"normal"}).command;
  EXPECT_EQ(run_arm(a_case, host_arm(), options).trials[0].ended, outcome::completed);
}

// Runs a level range whose levels succeed from a value on.
arm_result climbed(level_range levels, std::int64_t succeeds_from,
                   std::optional<std::int64_t> inconclusive_at = {}, int repeats = 1) {
  auto a = host_arm();
  a.levels = std::move(levels);
  a.repeats = repeats;
  runner_options options;
  options.command = [=](const auto&, const auto&, std::optional<std::int64_t> level, int) {
    words command{HOSTILE_CHILD, "ladder", std::to_string(level.value()), std::to_string(succeeds_from)};
    if (inconclusive_at) command.push_back(std::to_string(*inconclusive_at));
    return command;
  };
  return run_arm(a_case, a, options);
}

std::vector<std::int64_t> levels_of(const arm_result& result) {
  std::vector<std::int64_t> levels;
  for (const auto& o : result.trials) levels.push_back(o.level.value());
  return levels;
}

// "NAME VALUE UNIT" of the first observation; no other has any.
std::vector<std::string> edge_of(const arm_result& result) {
  std::vector<std::string> texts;
  for (const auto& o : result.trials) {
    for (const auto& m : o.measurements) {
      std::ostringstream text;
      text << m.name << " " << m.value << " " << m.unit;
      texts.push_back(text.str());
    }
  }
  EXPECT_EQ(result.trials.at(0).measurements.size(), texts.size());
  return texts;
}

TEST(levels_run, runs_every_rung_and_measures_the_edge) {
  const auto result = climbed({"MiB", {10, 20, 30, 40}, 0}, 25);
  EXPECT_THAT(levels_of(result), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(edge_of(result), ElementsAre("largest failing 20 MiB", "smallest succeeding 30 MiB"));
}

TEST(levels_run, halves_the_gap_until_it_is_narrow_enough) {
  const auto result = climbed({"MiB", {0, 16, 32}, 1}, 21);
  EXPECT_THAT(levels_of(result), ElementsAre(0, 16, 20, 21, 22, 24, 32));
  EXPECT_THAT(edge_of(result), ElementsAre("largest failing 20 MiB", "smallest succeeding 21 MiB"));
  EXPECT_EQ(plateaus_of(result.trials).size(), 2u) << "one plateau below the edge, one above";
  EXPECT_THAT(levels_of(climbed({"MiB", {0, 16, 32}, 4}, 21)), ElementsAre(0, 16, 20, 24, 32));
  EXPECT_THAT(levels_of(climbed({"MiB", {-16, 0}, 8}, -3)), ElementsAre(-16, -8, 0));
}

TEST(levels_run, without_an_edge_refines_nothing) {
  for (const std::int64_t from : {0, 100}) {
    const auto result = climbed({"MiB", {10, 20, 30}, 1}, from);
    EXPECT_THAT(levels_of(result), ElementsAre(10, 20, 30));
    EXPECT_THAT(edge_of(result), ElementsAre());
  }
}

TEST(levels_run, stops_refining_where_nothing_can_be_concluded) {
  const auto result = climbed({"MiB", {0, 16}, 1}, 5, 4);
  EXPECT_THAT(levels_of(result), ElementsAre(0, 4, 8, 16));
  EXPECT_EQ(result.trials[1].ended, outcome::not_provoked) << "and says so";
  EXPECT_THAT(edge_of(result), ElementsAre("largest failing 0 MiB", "smallest succeeding 8 MiB"));
}

TEST(levels_run, sees_no_edge_across_an_inconclusive_level) {
  const auto result = climbed({"MiB", {0, 16, 32}, 1}, 17, 16);
  EXPECT_THAT(levels_of(result), ElementsAre(0, 16, 32));
  EXPECT_THAT(edge_of(result), ElementsAre());
}

TEST(levels_run, repeats_every_level) {
  const auto result = climbed({"MiB", {0, 4}, 2}, 3, std::nullopt, 2);
  EXPECT_THAT(levels_of(result), ElementsAre(0, 0, 2, 2, 4, 4));
}

}  // namespace
}  // namespace cufault
