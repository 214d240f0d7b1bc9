// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

TEST(observation, a_call_is_named_by_its_function) {
  EXPECT_EQ(function_of("cublasCreate(&handle)"), "cublasCreate");
  EXPECT_EQ(function_of("cublasCreate (&handle)"), "cublasCreate");
  EXPECT_EQ(function_of("torch.matmul"), "torch.matmul");
  EXPECT_EQ(function_of(""), "");
}

TEST(observation, only_the_four_success_words_are_success) {
  for (const auto* word : {"CUBLAS_STATUS_SUCCESS", "cudaSuccess", "CUDA_SUCCESS", "RIGHT_NUMBERS"})
    EXPECT_TRUE(is_success(word)) << word;
  for (const auto* word :
       {"", "WRONG_NUMBERS", "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorNotReady", "never returned"})
    EXPECT_FALSE(is_success(word)) << word;
}

TEST(observation, only_a_trial_that_reached_its_work_is_comparable) {
  EXPECT_TRUE(comparable(trial({success})));
  EXPECT_TRUE(comparable(crash({})));
  auto hung = trial({});
  hung.ended = outcome::timed_out;
  hung.in_flight = "cublasCreate(&h)";
  EXPECT_TRUE(comparable(hung));
  EXPECT_FALSE(comparable(not_provoked("no GPU")));
  EXPECT_FALSE(comparable(harness_failed("garbled")));
}

TEST(observation, time_that_ran_out_between_calls_shows_nothing) {
  auto late = trial({success});
  late.ended = outcome::timed_out;
  late.context = "unchecked";
  EXPECT_TRUE(ran_out_of_time(late));
  EXPECT_FALSE(comparable(late));
  late.in_flight = "cublasCreate(&h)";
  EXPECT_TRUE(comparable(late)) << "it hung in a call";
  late.in_flight.clear();
  late.context = "usable";
  EXPECT_TRUE(comparable(late)) << "it hung while it ended";
}

TEST(observation, what_a_kernel_dies_of_at_a_wild_address_is_chance) {
  auto one = trial({success}), other = one;
  one.calls[0].detail = "logged; then cudaErrorIllegalAddress";
  other.calls[0].detail = "logged; then cudaErrorInvalidAddressSpace";
  EXPECT_EQ(signature_of(one), signature_of(other));
  other.calls[0].detail = "logged; then cudaErrorMisalignedAddress";
  EXPECT_NE(signature_of(one), signature_of(other));
}

TEST(observation, a_signature_splits_at_the_remedy) {
  const auto s = signature_of(trial({no_memory}, {success, right}));
  EXPECT_EQ(s.fault, (std::vector<step>{{"cublasCreate", no_memory}}));
  EXPECT_EQ(s.after, (std::vector<step>{{"cublasCreate", success}, {"cublasCreate", right}}));
  EXPECT_TRUE(s.applied);
  EXPECT_EQ(s.outcome, "completed");
  EXPECT_EQ(s.context, "usable");
  EXPECT_EQ(s.numbers, "right");
}

TEST(observation, a_signature_holds_nothing_that_varies_between_equal_runs) {
  auto one = trial({no_memory});
  auto two = one;
  two.calls[0].milliseconds = 12;
  two.calls[0].text = "cublasCreate(&other)";
  two.calls[0].last_error = "cudaErrorMemoryAllocation";
  two.memory.push_back({"before", 1, 2});
  two.measurements.push_back({"handles", 3, ""});
  two.library_log.emplace_back("line");
  two.rung = 64;
  two.milliseconds = 100;
  two.stdout_text = "0x7f";
  EXPECT_EQ(signature_of(one), signature_of(two));
  two.calls[0].status = internal;
  EXPECT_NE(signature_of(one), signature_of(two));
}

TEST(observation, a_crash_names_its_signal_and_call) {
  const auto s = signature_of(crash({success}));
  EXPECT_EQ(s.outcome, "crashed: SIGSEGV in cublasDestroy");
  EXPECT_EQ(s.fault, (std::vector<step>{{"cublasCreate", success}, {"cublasDestroy", "never returned"}}));
}

TEST(observation, a_call_in_flight_is_one_step_however_it_was_recorded) {
  const auto told_once = crash({success});
  auto told_twice = told_once;
  told_twice.calls.push_back(call("cublasDestroy(handle)", ""));
  EXPECT_EQ(signature_of(told_once), signature_of(told_twice));
}

TEST(observation, a_call_in_flight_after_the_remedy_is_a_step_after_it) {
  auto o = trial({no_memory}, {});
  o.ended = outcome::timed_out;
  o.in_flight = "cublasCreate(&handle)";
  const auto s = signature_of(o);
  EXPECT_EQ(s.outcome, "timed out in cublasCreate");
  EXPECT_EQ(s.after, (std::vector<step>{{"cublasCreate", "never returned"}}));
}

TEST(observation, other_ends_are_named_too) {
  auto left = crash({}, "cublasCreate(&h)");
  left.signal.reset();
  left.exit_code = 3;
  EXPECT_EQ(signature_of(left).outcome, "crashed: exit 3 in cublasCreate");
  auto nameless = crash({}, "");
  nameless.why.clear();
  EXPECT_EQ(signature_of(nameless).outcome, "crashed: signal 11");
  auto hung = trial({success});
  hung.ended = outcome::timed_out;
  EXPECT_EQ(signature_of(hung).outcome, "timed out");
}

TEST(observation, one_wrong_product_makes_the_numbers_wrong) {
  EXPECT_EQ(signature_of(trial({success})).numbers, "unchecked");
  EXPECT_EQ(signature_of(trial({success, right})).numbers, "right");
  EXPECT_EQ(signature_of(trial({right, wrong, right})).numbers, "wrong");
}

TEST(observation, equal_neighbours_are_one_plateau) {
  EXPECT_TRUE(signatures_of({}).empty());
  EXPECT_EQ(signatures_of({trial({success}), trial({success})}).size(), 1U);
  const auto ladder = signatures_of({at_rung(1, trial({no_memory})), at_rung(2, trial({no_memory})),
                                     at_rung(4, trial({success})), at_rung(8, trial({no_memory}))});
  ASSERT_EQ(ladder.size(), 3U);
  EXPECT_EQ(ladder[0], ladder[2]);
  EXPECT_NE(ladder[0], ladder[1]);
}

TEST(observation, without_a_remedy_every_step_counts) {
  EXPECT_FALSE(failed(signature_of(trial({success, right}))));
  EXPECT_TRUE(failed(signature_of(trial({success, no_memory}))));
  EXPECT_TRUE(failed(signature_of(trial({success, wrong}))));
}

TEST(observation, with_a_remedy_only_what_comes_after_counts) {
  EXPECT_FALSE(failed(signature_of(trial({no_memory}, {success, right}))));
  EXPECT_FALSE(failed(signature_of(trial({wrong}, {right}))));
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {no_memory}))));
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {success, wrong}))));
}

TEST(observation, a_remedy_after_which_nothing_was_tried_has_not_cleared_anything) {
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {}))));
}

TEST(observation, a_crash_a_hang_and_a_damaged_context_fail_whatever_the_statuses) {
  EXPECT_TRUE(failed(signature_of(crash({success}, ""))));
  auto hung = trial({no_memory}, {success});
  hung.ended = outcome::timed_out;
  EXPECT_TRUE(failed(signature_of(hung)));
  auto damaged = trial({success});
  damaged.context = "damaged";
  EXPECT_TRUE(failed(signature_of(damaged)));
  damaged.context = "none";
  EXPECT_FALSE(failed(signature_of(damaged)));
}

TEST(observation, a_remedy_after_which_nobody_looked_at_the_context_has_to_show_right_numbers) {
  auto unchecked = trial({no_memory}, {success});
  unchecked.context = "unchecked";
  EXPECT_TRUE(failed(signature_of(unchecked)));
  unchecked.context = "none";  // on the host there are none
  EXPECT_FALSE(failed(signature_of(unchecked)));
  auto right_ones = trial({no_memory}, {success, right});
  right_ones.context = "unchecked";
  EXPECT_FALSE(failed(signature_of(right_ones)));
}

TEST(observation, severity_tells_a_status_from_what_is_worse) {
  EXPECT_EQ(severity(signature_of(trial({success, right}))), 0);
  EXPECT_EQ(severity(signature_of(trial({no_memory}))), 1);
  EXPECT_EQ(severity(signature_of(trial({success}, {no_memory}))), 1);
  EXPECT_EQ(severity(signature_of(trial({wrong}))), 2);
  EXPECT_EQ(severity(signature_of(crash({success}))), 2);
  auto damaged = trial({no_memory});
  damaged.context = "damaged";
  EXPECT_EQ(severity(signature_of(damaged)), 2);
}

TEST(observation, is_described_in_one_line) {
  EXPECT_EQ(
      describe(signature_of(trial({no_memory}, {success, right}))),
      "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; then cublasCreate: CUBLAS_STATUS_SUCCESS, cublasCreate: "
      "RIGHT_NUMBERS; context usable; numbers right");
  EXPECT_EQ(describe(signature_of(crash({}))),
            "cublasDestroy: never returned; crashed: SIGSEGV in cublasDestroy; context none");
  EXPECT_EQ(
      describe(signature_of(trial({success, success, success, no_memory}))),
      "cublasCreate: CUBLAS_STATUS_SUCCESS x3, cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable");
  EXPECT_EQ(describe(signature_of(trial({}, {}))), "then nothing; context usable");
  EXPECT_EQ(describe(signature_of(trial({}))), "no calls; context usable");
}

TEST(observation, a_table_is_described_by_how_many_calls_came_to_what) {
  auto table = trial({});
  for (int i = 0; i < 50; ++i) {
    const auto* status = i % 5 == 0 ? success : i % 5 == 1 ? no_memory : internal;
    table.calls.push_back(call("cublasSgemm lda of " + std::to_string(i), status));
  }
  EXPECT_EQ(describe(signature_of(table)),
            "50 calls: 30 CUBLAS_STATUS_INTERNAL_ERROR, 10 CUBLAS_STATUS_ALLOC_FAILED, 10 "
            "CUBLAS_STATUS_SUCCESS; context usable");
}

TEST(observation, a_long_loop_of_equal_calls_is_no_table) {
  auto loop = trial({});
  for (int i = 0; i < 50; ++i) loop.calls.push_back(call("cublasCreate(&handle)", success));
  EXPECT_EQ(describe(signature_of(loop)), "cublasCreate: CUBLAS_STATUS_SUCCESS x50; context usable");
}

TEST(observation, steps_that_differ_are_told_one_by_one) {
  auto seen = trial({success, success, success});
  seen.calls[1].status = no_memory;
  seen.calls[2].detail = "C written";
  EXPECT_EQ(differing_steps(signature_of(trial({success, success, success})), signature_of(seen)),
            (std::vector<std::string>{"expected cublasCreate: CUBLAS_STATUS_SUCCESS; seen cublasCreate: "
                                      "CUBLAS_STATUS_ALLOC_FAILED",
                                      "expected cublasCreate: CUBLAS_STATUS_SUCCESS; seen cublasCreate: "
                                      "CUBLAS_STATUS_SUCCESS (C written)"}));
  EXPECT_EQ(differing_steps(signature_of(seen), signature_of(seen)), std::vector<std::string>{});
}

TEST(observation, lists_of_other_calls_are_not_compared_step_by_step) {
  const auto two = signature_of(trial({success, success}));
  auto other = trial({success, no_memory});
  other.calls[0].text = "cublasDestroy(handle)";
  EXPECT_EQ(differing_steps(two, signature_of(trial({no_memory}))), std::vector<std::string>{});
  EXPECT_EQ(differing_steps(two, signature_of(other)), std::vector<std::string>{});
}

TEST(observation, plateaus_are_described_side_by_side) {
  EXPECT_EQ(describe(signatures_of({trial({no_memory}), trial({success})})),
            "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | cublasCreate: CUBLAS_STATUS_SUCCESS; "
            "context usable");
}

std::string dumped(const nlohmann::json& j) {
  return j.dump(1);
}

TEST(observation, json_keeps_every_field) {
  auto o = trial({no_memory}, {success});
  o.rung = -64;
  o.calls[0].value = 3;
  o.calls[0].last_error = "cudaErrorMemoryAllocation";
  o.calls[0].milliseconds = 0.1;
  o.ended = outcome::crashed;
  o.why = "SIGSEGV";
  o.in_flight = "cublasDestroy(handle)";
  o.exit_code = 3;
  o.signal = 11;
  o.context = "damaged";
  o.memory = {{"before", std::numeric_limits<std::uint64_t>::max(), 1}, {"after", 0, 2}};
  o.measurements = {{"handles", 3172.25, "handles"}, {"ratio", std::numeric_limits<double>::infinity(), ""}};
  o.findings = {{"S0-6", true, "64 MiB"}, {"S0-7", false, ""}};
  o.library_log = {"one", "two\t\x01"};
  o.stdout_text = "out\n";
  o.stderr_text = "err \"quoted\"";
  o.milliseconds = 1e-3;

  const auto text = dumped(o);
  const auto again = observation_from(cursor(text));
  EXPECT_EQ(dumped(again), text);
  EXPECT_EQ(again.rung, o.rung);
  EXPECT_EQ(again.memory[0].free_bytes, o.memory[0].free_bytes);
  EXPECT_EQ(again.measurements[1].value, o.measurements[1].value);
  EXPECT_EQ(again.calls[0].milliseconds, 0.1);
  EXPECT_EQ(again.calls[0].last_error, "cudaErrorMemoryAllocation");
  EXPECT_TRUE(again.calls[1].after_remedy);
  EXPECT_EQ(again.findings[0].why, "64 MiB");
  EXPECT_EQ(again.library_log[1], "two\t\x01");
  EXPECT_EQ(again.stderr_text, o.stderr_text);
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_EQ(again.signal, 11);
  EXPECT_EQ(signature_of(again), signature_of(o));
}

TEST(observation, json_keeps_a_measurement_that_is_not_a_number) {
  auto o = trial({});
  o.measurements = {{"error", std::numeric_limits<double>::quiet_NaN(), ""},
                    {"least", -std::numeric_limits<double>::infinity(), ""}};
  const auto again = observation_from(cursor(dumped(o)));
  EXPECT_TRUE(std::isnan(again.measurements[0].value));
  EXPECT_EQ(again.measurements[1].value, -std::numeric_limits<double>::infinity());
}

TEST(observation, json_keeps_every_signature) {
  for (const auto& o :
       {trial({no_memory}, {success}), trial({no_memory}, {}), trial({wrong}), crash({success}), trial({})}) {
    const auto s = signature_of(o);
    EXPECT_EQ(signature_from(cursor(dumped(s))), s) << describe(s);
  }
}

TEST(observation, malformed_observations_are_refused_by_line_and_field) {
  const auto told = [](std::string_view text) {
    return refusal([&] { return observation_from(cursor(text)); });
  };
  EXPECT_EQ(told("{\"calls\": [], \"ended\": \"won\",\n\"context\": \"usable\", \"ms\": 1}"),
            "x.json:1: ended: expected one of completed, crashed, timed_out, not_provoked, harness_failed");
  EXPECT_EQ(told("{\"calls\": [], \"ended\": \"completed\",\n\"context\": \"fine\", \"ms\": 1}"),
            "x.json:2: context: expected one of usable, damaged, unchecked, none");
  EXPECT_EQ(told("{\"calls\": [], \"ended\": \"completed\",\n\"context\": \"usable\"}"),
            "x.json:1: top level: \"ms\" is missing");
  EXPECT_EQ(told("{\"calls\": [{\n\"text\": \"f()\", \"status\": \"\", \"value\": 4294967296, \"ms\": 0}]}"),
            "x.json:2: calls[0].value: 4294967296 does not fit 32 bits");
  EXPECT_EQ(told("{\"calls\": [{\"text\": \"f()\", \"status\": \"\", \"value\": 0, \"ms\": \"soon\"}]}"),
            R"(x.json:1: calls[0].ms: expected a number, "nan", "inf" or "-inf")");
  EXPECT_EQ(told("{\"colour\": 1}"), "x.json:1: colour: unknown key");
  EXPECT_EQ(told("[]"), "x.json:1: top level: expected an object, found an array");
}

TEST(observation, malformed_signatures_are_refused_by_line_and_field) {
  const auto told = [](std::string_view text) {
    return refusal([&] { return signature_from(cursor(text)); });
  };
  EXPECT_EQ(
      told(R"({"fault": [{"call": "f"}], "outcome": "completed", "context": "usable", "numbers": "right"})"),
      "x.json:1: fault[0]: \"status\" is missing");
  EXPECT_EQ(told(R"({"fault": [], "outcome": "complete", "context": "usable", "numbers": "right"})"),
            R"(x.json:1: outcome: expected "completed", "crashed: ..." or "timed out ...")");
  EXPECT_EQ(told(R"({"fault": [], "outcome": "completed", "context": "usable", "numbers": "ok"})"),
            "x.json:1: numbers: expected one of right, wrong, unchecked");
}

TEST(observation, arm_kinds_have_names) {
  for (const auto kind : {arm_kind::control, arm_kind::fault, arm_kind::remedy, arm_kind::dead_end})
    EXPECT_EQ(arm_kind_from(cursor("\"" + to_string(kind) + "\"")), kind);
  EXPECT_EQ(refusal([] { return arm_kind_from(cursor("\"cure\"")); }),
            "x.json:1: top level: expected one of control, fault, remedy, dead_end");
}

}  // namespace
}  // namespace cufault
