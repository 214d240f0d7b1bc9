// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Signatures of trials: what is compared, what failed, how they are described. What verdicts show of it: reports/answers/tests/verdicts.txt.
#include "reports/model/observation.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

TEST(observation, of_a_status_alone_only_the_four_success_words_are_success) {
  for (const auto* word : {"CUBLAS_STATUS_SUCCESS", "cudaSuccess", "CUDA_SUCCESS", "RIGHT_NUMBERS"})
    EXPECT_TRUE(is_success_status(word)) << word;
  for (const auto* word :
       {"", "WRONG_NUMBERS", "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorNotReady", "never returned"})
    EXPECT_FALSE(is_success_status(word)) << word;
}

TEST(observation, only_a_trial_that_reached_its_work_is_comparable) {
  EXPECT_TRUE(comparable(trial({success})));
  EXPECT_TRUE(comparable(crash({})));
  EXPECT_TRUE(comparable(hang({})));
  EXPECT_FALSE(comparable(not_provoked("no GPU")));
  EXPECT_FALSE(comparable(harness_failed("garbled")));
}

TEST(observation, time_that_ran_out_between_calls_shows_nothing) {
  auto late = trial({success});
  late.ended = outcome::timed_out;
  late.context = "unchecked";
  EXPECT_TRUE(ran_out_of_time(late));
  EXPECT_FALSE(comparable(late));
  EXPECT_EQ(why_not_comparable(late),
            "time ran out behind cublasCreate; run it beside less, give the arm a longer timeout, or observe "
            "the call that waits");
  late.calls.push_back(call("cublasCreate", ""));
  EXPECT_TRUE(comparable(late)) << "it hung in a call";
  late.calls.pop_back();
  late.context = "usable";
  EXPECT_TRUE(comparable(late)) << "it hung while it ended";
}

TEST(observation, a_signature_splits_at_the_remedy) {
  const auto s = signature_of(trial({no_memory}, {success, right}));
  EXPECT_EQ(s.fault, (std::vector<step>{step_of("cublasCreate", no_memory)}));
  EXPECT_EQ(s.after, (std::vector<step>{step_of("cublasCreate", success), step_of("cublasCreate", right)}));
  EXPECT_TRUE(s.applied);
  EXPECT_EQ(s.outcome, "completed");
  EXPECT_EQ(s.context, "usable");
  EXPECT_EQ(s.numbers, "right");
}

TEST(observation, a_signature_holds_nothing_that_varies_between_equal_runs) {
  auto one = trial({no_memory});
  auto two = one;
  two.calls[0].milliseconds = 12;
  two.calls[0].last_error = "cudaErrorMemoryAllocation";
  two.memory.push_back({"before", 1, 2});
  two.measurements.push_back({"handles", 3, ""});
  two.library_log.emplace_back("line");
  two.level = 64;
  two.milliseconds = 100;
  two.stdout_text = "0x7f";
  EXPECT_EQ(signature_of(one), signature_of(two));
  two.calls[0].what.status = internal;
  EXPECT_NE(signature_of(one), signature_of(two));
}

TEST(observation, a_signature_leaves_out_rows_of_a_sweep_that_vary_between_runs) {
  auto one = trial({no_memory});
  one.calls[0].what = {.name = {"cublasCreate"}, .status = "CUBLAS_STATUS_SUCCESS"};
  one.calls[0].swept = swept_calls{.function = "cuCtxGetLimit", .caller = "libcublasLt", .once = true};
  auto two = one;
  two.calls[0].what.status = status_crashed;
  two.calls[0].what.ok = false;
  EXPECT_TRUE(varies_between_runs(one.calls[0]));
  EXPECT_EQ(signature_of(one), signature_of(two));
  for (observation* o : {&one, &two}) o->calls[0].swept->caller = "libcublas";
  EXPECT_FALSE(varies_between_runs(one.calls[0]));
  EXPECT_NE(signature_of(one), signature_of(two)) << "the same function, called by another library";
  one.calls[0].swept.reset();
  EXPECT_FALSE(varies_between_runs(one.calls[0])) << "no row of a sweep";
}

TEST(observation, a_signature_holds_all_that_names_a_step_or_says_what_it_came_to) {
  const auto one = trial({right});
  const auto differs = [&](auto change) {
    auto other = one;
    change(other.calls[0].what);
    return signature_of(one) != signature_of(other);
  };
  EXPECT_FALSE(differs([](step&) {}));
  EXPECT_TRUE(differs([](step& s) { s.name.api = "cublasDestroy"; }));
  EXPECT_TRUE(differs([](step& s) { s.name.variant = "split_k"; }));
  EXPECT_TRUE(differs([](step& s) { s.status = internal; }));
  EXPECT_TRUE(differs([](step& s) { s.ok = false; }));
  EXPECT_TRUE(differs([](step& s) { s.numbers = numbers_found::wrong; }));
  EXPECT_TRUE(differs([](step& s) { s.facts = {{"logged", true}}; }));
}

TEST(observation, the_call_in_flight_is_the_last_one_without_a_status) {
  EXPECT_EQ(call_in_flight(trial({})), nullptr);
  EXPECT_EQ(call_in_flight(trial({success})), nullptr);
  const auto hung = hang({success}, "cublasDestroy");
  ASSERT_NE(call_in_flight(hung), nullptr);
  EXPECT_EQ(call_in_flight(hung)->what.name.api, "cublasDestroy");
  EXPECT_EQ(signature_of(hung).fault.size(), 2U);
}

TEST(observation, a_call_in_flight_is_not_ok_whatever_was_recorded_of_it) {
  auto hung = hang({success});
  hung.calls.back().what.ok = true;
  EXPECT_EQ(signature_of(hung), signature_of(hang({success})));
}

TEST(observation, a_call_in_flight_after_the_remedy_is_a_step_after_it) {
  auto o = trial({no_memory}, {});
  o.ended = outcome::timed_out;
  o.calls.push_back(call("cublasCreate", "", true));
  const auto s = signature_of(o);
  EXPECT_EQ(s.outcome, "timed out in cublasCreate");
  EXPECT_EQ(s.after, (std::vector<step>{step_of("cublasCreate", "never returned")}));
}

TEST(observation, other_ends_are_named_too) {
  auto left = crash({}, "cublasCreate");
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

TEST(observation, with_a_remedy_only_what_comes_after_counts) {
  EXPECT_FALSE(failed(signature_of(trial({no_memory}, {success, right}))));
  EXPECT_FALSE(failed(signature_of(trial({wrong}, {right}))));
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {no_memory}))));
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {success, wrong}))));
}

TEST(observation, right_numbers_do_not_make_up_for_wrong_ones_after_a_remedy) {
  auto o = trial({no_memory}, {right, wrong});
  EXPECT_TRUE(failed(signature_of(o)));
  for (auto& c : o.calls) c.what.ok = true;
  EXPECT_TRUE(failed(signature_of(o))) << "whatever the step says of itself";
}

TEST(observation, a_crash_a_hang_and_a_damaged_context_fail_whatever_the_statuses) {
  EXPECT_TRUE(failed(signature_of(crash({success}, ""))));
  auto hung = trial({no_memory}, {success, right});
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
      "CUBLAS_STATUS_SUCCESS, numbers right; context usable; numbers right");
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
    table.calls.push_back(call("cublasSgemm", status));
    table.calls.back().what.name.variant = "lda of " + std::to_string(i);
  }
  EXPECT_EQ(describe(signature_of(table)),
            "50 calls: 30 CUBLAS_STATUS_INTERNAL_ERROR, 10 CUBLAS_STATUS_ALLOC_FAILED, 10 "
            "CUBLAS_STATUS_SUCCESS; context usable");
}

TEST(observation, a_long_loop_of_equal_calls_is_no_table) {
  auto loop = trial({});
  for (int i = 0; i < 50; ++i) loop.calls.push_back(call("cublasCreate", success));
  EXPECT_EQ(describe(signature_of(loop)), "cublasCreate: CUBLAS_STATUS_SUCCESS x50; context usable");
}

TEST(observation, differs_in_whether_a_remedy_was_applied) {
  const auto without = signature_of(trial({success})), with = signature_of(trial({success}, {success}));
  EXPECT_EQ(differing_steps(without, with).back(), "the remedy: not applied → applied");
  EXPECT_EQ(differing_steps(with, without).back(), "the remedy: applied → not applied");
}

TEST(observation, of_many_steps_that_differ_tells_five) {
  const auto many = [](const char* s) {
    auto o = trial({s, s, s, s, s, s, s});
    for (std::size_t i = 0; i < o.calls.size(); ++i) o.calls[i].what.name.variant = std::to_string(i);
    return signature_of(o);
  };
  const auto text = difference(many(success), many(internal));
  EXPECT_TRUE(text.ends_with("; and 2 more")) << text;
  EXPECT_EQ(difference(signature_of(trial({success, success})), signature_of(trial({internal, internal}))),
            "cublasCreate: SUCCESS → INTERNAL_ERROR")
      << "told once";
}

TEST(observation, notes_which_of_equal_failures_came_first) {
  auto before = trial({success}), now = before;
  const auto first = [](std::int64_t tile) { return std::vector<std::int64_t>{66, tile}; };
  before.calls[0].what.facts["first_failing"] = first(7);
  now.calls[0].what.facts["first_failing"] = first(10);
  EXPECT_EQ(signature_of(before), signature_of(now));
  EXPECT_EQ(noted_difference({before}, {now}), "cublasCreate: first failing 66, 7 → first failing 66, 10");
  EXPECT_EQ(noted_difference({before}, {before}), "");
}

TEST(signature, of_a_row_of_a_sweep_has_what_was_made_to_fail_and_what_came_of_it_but_no_site) {
  const auto signature = [](const char* function, swept_calls s = {}) {
    s.function = function;
    s.caller = "libcublas";
    s.codes = {"UNKNOWN"};
    s.once = true;
    s.calls = s.first = 1;
    observation o = trial({internal});
    o.calls[0].swept = s;
    return signature_of(o);
  };
  const auto one = signature("cuA");
  EXPECT_EQ(describe(one),
            "cublasCreate cuA of libcublas: UNKNOWN once: CUBLAS_STATUS_INTERNAL_ERROR; context usable");
  EXPECT_NE(signature("cuB"), one);
  EXPECT_NE(signature("cuA", {.again = internal}), one);
  EXPECT_NE(signature("cuA", {.left_bytes = 1}), one);
  EXPECT_EQ(signature("cuA", {.site = "0f3a97c1"}), one) << "a site is another in each build";
  EXPECT_EQ(signature("cuA", {.left_bytes = 1}), signature("cuA", {.left_bytes = 2}));
}

}  // namespace
}  // namespace cufault
