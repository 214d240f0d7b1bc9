// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_fields.hpp"
#include "reports/model/tests/examples.hpp"
#include "reports/model/trials_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
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

TEST(observation, a_crash_names_its_signal_and_call) {
  const auto s = signature_of(crash({success}));
  EXPECT_EQ(s.outcome, "crashed: SIGSEGV in cublasDestroy");
  EXPECT_EQ(s.fault, (std::vector<step>{step_of("cublasCreate", success),
                                        step_of("cublasDestroy", "never returned")}));
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

TEST(observation, equal_neighbours_are_one_plateau) {
  EXPECT_TRUE(plateaus_of({}).empty());
  EXPECT_EQ(plateaus_of({trial({success}), trial({success})}).size(), 1U);
  const auto level_range = plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                        at_level(4, trial({success})), at_level(8, trial({no_memory}))});
  ASSERT_EQ(level_range.size(), 3U);
  EXPECT_EQ(level_range[0].seen, level_range[2].seen);
  EXPECT_NE(level_range[0].seen, level_range[1].seen);
  EXPECT_EQ(level_range[0].first_level, 1);
  EXPECT_EQ(level_range[0].last_level, 2);
  EXPECT_EQ(level_range[1].first_level, 4);
  EXPECT_EQ(level_range[1].last_level, 4);
  EXPECT_FALSE(plateaus_of({trial({success})})[0].first_level);
}

TEST(observation, plateaus_are_in_the_order_of_levels_however_the_trials_are) {
  const auto sorted = plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                   refined_at(3, trial({success})), at_level(4, trial({success})),
                                   at_level(8, trial({success}))});
  EXPECT_EQ(sorted.size(), 2U);
  EXPECT_EQ(plateaus_of({at_level(8, trial({success})), at_level(1, trial({no_memory})),
                         at_level(4, trial({success})), at_level(2, trial({no_memory})),
                         refined_at(3, trial({success}))}),
            sorted);
}

TEST(observation, a_plateau_of_refined_levels_alone_is_not_stated) {
  const auto seen = plateaus_of({at_level(1, trial({no_memory})), refined_at(2, trial({no_memory})),
                                 refined_at(3, trial({internal})), at_level(4, trial({success}))});
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen[0].stated);
  EXPECT_EQ(seen[0].last_level, 2);
  EXPECT_FALSE(seen[1].stated);
  EXPECT_TRUE(seen[2].stated);
  EXPECT_TRUE(plateaus_of({refined_at(1, trial({success})), at_level(2, trial({success}))})[0].stated);
}

using trials = std::vector<observation>;

std::string disagreement_of(const trials& expected, const trials& seen) {
  return disagreement(plateaus_of(expected), plateaus_of(seen));
}

/// Fails up to `last_failing`, and succeeds from there: at the stated levels 0, 64 and 128, and refined at the edge.
trials edge_at(std::int64_t last_failing) {
  return {at_level(0, trial({no_memory})), at_level(64, trial({no_memory})),
          refined_at(last_failing, trial({no_memory})), refined_at(last_failing + 1, trial({success})),
          at_level(128, trial({success}))};
}

TEST(levels, agree_with_themselves) {
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(70)), "");
  EXPECT_EQ(disagreement_of({}, {}), "");
  const trials again_and_again{at_level(-4, trial({success})), at_level(0, trial({no_memory})),
                               at_level(1, trial({success})), at_level(2, trial({no_memory}))};
  EXPECT_EQ(disagreement_of(again_and_again, again_and_again), "");
}

TEST(levels, without_numbers_are_compared_in_order) {
  const trials two{trial({no_memory}), trial({success})}, turned{trial({success}), trial({no_memory})};
  EXPECT_EQ(disagreement_of(two, two), "");
  EXPECT_EQ(disagreement_of(two, {trial({no_memory}), trial({no_memory}), trial({success})}), "");
  EXPECT_TRUE(disagreement_of(two, turned).starts_with("expected cublasCreate: CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_NE(disagreement_of({at_level(1, trial({success}))}, {trial({no_memory})}), "");
  EXPECT_NE(disagreement_of({trial({no_memory})}, {}), "");
  EXPECT_NE(disagreement_of({}, {trial({no_memory})}), "");
}

TEST(levels, may_have_their_edge_within_a_tenth_of_the_level) {
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(73)), "");
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(77)), "") << "the band ends at 77";
  EXPECT_NE(disagreement_of(edge_at(70), edge_at(78)), "");
  EXPECT_EQ(disagreement_of(edge_at(80), edge_at(72)), "");
  EXPECT_NE(disagreement_of(edge_at(80), edge_at(71)), "")
      << "success at 72 lies below the band, which begins at 72.9";
}

TEST(levels, beyond_the_band_say_that_the_edge_moved) {
  const auto said = disagreement_of(edge_at(70), edge_at(126));
  EXPECT_TRUE(said.starts_with("the edge moved: at 126 cublasCreate: CUBLAS_STATUS_ALLOC_FAILED")) << said;
  EXPECT_TRUE(contains(said, "expected from 0 to 70: ")) << said;
  EXPECT_TRUE(contains(said, "seen from 0 to 126: ")) << said;
}

TEST(levels, in_the_gap_between_two_plateaus_may_show_either) {
  const trials wide{at_level(64, trial({no_memory})), at_level(128, trial({success}))};
  const auto with = [&](std::int64_t level, const char* status) {
    return trials{wide[0], refined_at(level, trial({status})), wide[1]};
  };
  EXPECT_EQ(disagreement_of(wide, with(100, no_memory)), "");
  EXPECT_EQ(disagreement_of(wide, with(100, success)), "");
  EXPECT_TRUE(disagreement_of(wide, with(100, internal))
                  .starts_with("new at 100: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR"));
}

TEST(levels, that_are_refined_count) {
  // As cuBLAS 12.4.5 does it: between failure and success, another failure that is seen on one refined level alone.
  const trials expected{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        refined_at(603, trial({internal})), at_level(604, trial({success}))};
  const trials without{expected[0], expected[1], expected[3]};
  EXPECT_TRUE(disagreement_of(without, expected)
                  .starts_with("new at 603: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_EQ(disagreement_of(expected, without), "") << "the level 603 was not visited again";
  EXPECT_EQ(disagreement_of(expected, expected), "");
}

TEST(levels, that_are_stated_must_not_vanish) {
  const trials expected{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        at_level(603, trial({internal})), at_level(604, trial({success}))};
  const trials vanished{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        at_level(603, trial({success})), at_level(604, trial({success}))};
  const auto said = disagreement_of(expected, vanished);
  EXPECT_TRUE(said.starts_with("not seen: at 603: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR")) << said;
  EXPECT_NE(disagreement_of(expected, {expected[0]}), "");
  EXPECT_NE(disagreement_of(expected, {}), "");
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

TEST(observation, right_numbers_do_not_make_up_for_wrong_ones_after_a_remedy) {
  auto o = trial({no_memory}, {right, wrong});
  EXPECT_TRUE(failed(signature_of(o)));
  for (auto& c : o.calls) c.what.ok = true;
  EXPECT_TRUE(failed(signature_of(o))) << "whatever the step says of itself";
}

TEST(observation, a_remedy_after_which_nothing_was_tried_has_not_cleared_anything) {
  EXPECT_TRUE(failed(signature_of(trial({no_memory}, {}))));
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

TEST(observation, steps_that_differ_are_told_one_by_one) {
  auto seen = trial({success, success, success});
  seen.calls[1].what = step_of("cublasCreate", no_memory);
  seen.calls[2].what.facts = {{"written", std::vector<std::string>{"C"}}};
  EXPECT_EQ(differing_steps(signature_of(trial({success, success, success})), signature_of(seen)),
            (std::vector<std::string>{"expected cublasCreate: CUBLAS_STATUS_SUCCESS; seen cublasCreate: "
                                      "CUBLAS_STATUS_ALLOC_FAILED",
                                      "expected cublasCreate: CUBLAS_STATUS_SUCCESS; seen cublasCreate: "
                                      "CUBLAS_STATUS_SUCCESS (written C)"}));
  EXPECT_EQ(differing_steps(signature_of(seen), signature_of(seen)), std::vector<std::string>{});
}

TEST(observation, lists_of_other_calls_are_not_compared_step_by_step) {
  const auto two = signature_of(trial({success, success}));
  auto other = trial({success, no_memory});
  other.calls[0].what.name.api = "cublasDestroy";
  EXPECT_EQ(differing_steps(two, signature_of(trial({no_memory}))), std::vector<std::string>{});
  EXPECT_EQ(differing_steps(two, signature_of(other)), std::vector<std::string>{});
}

TEST(observation, plateaus_are_described_side_by_side) {
  const auto both = plateaus_of({trial({no_memory}), trial({success})});
  EXPECT_EQ(describe(both),
            "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | cublasCreate: CUBLAS_STATUS_SUCCESS; "
            "context usable");
  EXPECT_EQ(describe(signatures_of(both)), describe(both));
  EXPECT_EQ(describe(plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                  at_level(4, trial({success}))})),
            "from 1 to 2: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | at 4: cublasCreate: "
            "CUBLAS_STATUS_SUCCESS; context usable");
}

std::string dumped(const observation& o) {
  return observation_json(o).dump(1);
}

TEST(observation, json_keeps_every_field) {
  auto o = trial({no_memory}, {success});
  o.level = -64;
  o.refined = true;
  o.calls[0].what.name.variant = "second";
  o.calls[0].what.facts = {{"blamed", std::int64_t{3}}};
  o.calls[0].last_error = "cudaErrorMemoryAllocation";
  o.calls[0].milliseconds = 0.1;
  o.ended = outcome::crashed;
  o.why = "SIGSEGV";
  o.calls.push_back(call("cublasDestroy", "", true));
  o.exit_code = 3;
  o.signal = 11;
  o.context = "damaged";
  o.memory = {{"before", std::numeric_limits<std::uint64_t>::max(), 1}, {"after", 0, 2}};
  o.measurements = {{"handles", 3172.25, "handles"}, {"ratio", std::numeric_limits<double>::infinity(), ""}};
  o.notes = {{"cudaGetErrorString", "out of memory"}, {"printed", ""}};
  o.library_log = {"one", "two\t\x01"};
  o.stdout_text = "out\n";
  o.stderr_text = "err \"quoted\"";
  o.milliseconds = 1e-3;

  const auto text = dumped(o);
  const auto again = observation_from(cursor(text));
  EXPECT_EQ(dumped(again), text);
  EXPECT_EQ(again.level, o.level);
  EXPECT_TRUE(again.refined);
  EXPECT_EQ(again.calls[0].what, o.calls[0].what);
  EXPECT_EQ(again.calls[2].what.status, "");
  EXPECT_EQ(again.ended, outcome::crashed);
  EXPECT_EQ(again.applied, o.applied);
  EXPECT_EQ(again.memory, o.memory);
  EXPECT_EQ(again.stdout_text, o.stdout_text);
  EXPECT_EQ(again.milliseconds, o.milliseconds);
  EXPECT_EQ(again.memory[0].free_bytes, o.memory[0].free_bytes);
  EXPECT_EQ(again.measurements[1].value, o.measurements[1].value);
  EXPECT_EQ(again.calls[0].milliseconds, 0.1);
  EXPECT_EQ(again.calls[0].last_error, "cudaErrorMemoryAllocation");
  EXPECT_TRUE(again.calls[1].after_remedy);
  EXPECT_EQ(again.notes, o.notes);
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
  for (const auto& o : {trial({no_memory}, {success}), trial({no_memory}, {}), trial({wrong}), trial({right}),
                        crash({success}), hang({}), trial({})}) {
    const auto s = signature_of(o);
    EXPECT_EQ(signature_of(observation_from(cursor(dumped(o)))), s) << describe(s);
  }
}

TEST(observation, json_leaves_defaults_out) {
  auto o = trial({success});
  o.calls[0].last_error = "cudaSuccess";
  o.exit_code = 0;
  EXPECT_EQ(observation_json(o).dump(), R"({"calls":["cublasCreate"]})");
  EXPECT_EQ(observation_from(cursor(R"({"calls":["cublasCreate"]})")).exit_code, 0);
  EXPECT_FALSE(observation_from(cursor(R"({"ended":"crashed","calls":["cublasCreate"]})")).exit_code);
  o.ended = outcome::not_provoked;
  EXPECT_EQ(observation_from(cursor(dumped(o))).exit_code, 0);
}

TEST(observation, has_lists_of_what_is_measured) {
  auto o = trial({});
  o.memory = {{"before", 5, 6}, {"after", 4, 0}};
  o.measurements = {{"rows", 148, ""}, {"workspace", 0.5, "MiB"}};
  o.notes = {{"printed", ""}};
  EXPECT_EQ(observation_json(o).dump(),
            R"({"calls":[],"notes":[["printed",""]],"memory":[["before",5,6],["after",4]],)"
            R"("measurements":[["rows",148],["workspace",0.5,"MiB"]]})");
}

observation at_of(observation o, std::int64_t level, double ms) {
  o.level = level;
  o.milliseconds = ms;
  for (auto& c : o.calls) c.milliseconds = ms / 2;
  return o;
}

TEST(trials, that_saw_the_same_state_it_once) {
  const std::vector<observation> trials{at_of(crash({no_memory}), 1, 8), at_of(trial({success}), 2, 6),
                                        at_of(crash({no_memory}), 3, 4), at_of(trial({success}), 4, 0)};
  const auto j = trials_json(trials);
  ASSERT_EQ(j.size(), 4U);
  EXPECT_FALSE(j[1].contains("like"));
  EXPECT_EQ(j[2].dump(), R"({"level":3,"like":0,"times":[2,2],"ms":4})");
  EXPECT_EQ(j[3].dump(), R"({"level":4,"like":1})");
  std::size_t room = 1 << 20;
  const auto again = trials_from(cursor(j.dump()), room);
  ASSERT_EQ(again.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(dumped(again[i]), dumped(trials[i])) << i;
  EXPECT_LT(room, 1U << 20);
  EXPECT_GT(room, (1U << 20) - 20000U) << "what two copies take, about";
}

TEST(trials, that_are_like_none_before_them_are_refused) {
  const auto trials_refusal = [](std::string_view text) {
    std::size_t room = 1 << 20;
    return refusal([&] { return trials_from(cursor(text), room); });
  };
  EXPECT_EQ(trials_refusal("[{\"calls\": []},\n{\"like\": 1}]"),
            "x.json:2: [1].like: 1 trials stand in front of this one, counted from 0");
  EXPECT_EQ(trials_refusal(R"([{"like": 0}])"),
            "x.json:1: [0].like: 0 trials stand in front of this one, counted from 0");
  EXPECT_EQ(trials_refusal(R"([{"like": -1}])"), "x.json:1: [0].like: expected no negative number, found -1");
  EXPECT_EQ(trials_refusal(R"([{"calls": []}, {"like": 0, "calls": []}])"),
            "x.json:1: [1].calls: unknown key");
  EXPECT_EQ(trials_refusal(R"([{"calls": ["cublasCreate"]}, {"like": 0, "times": []}])"),
            "x.json:1: [1].times: 0 times of 1 calls");
}

TEST(trials, that_repeat_more_than_there_is_room_for_are_refused) {
  std::string text = R"([{"calls": [], "stdout": ")" + std::string(1000, 'x') + "\"}";
  for (int i = 0; i < 100; ++i) text += ",{\"like\": 0}";
  std::size_t room = 20000;
  const auto said = refusal([&] { return trials_from(cursor(text + "]"), room); });
  EXPECT_TRUE(said.ends_with(".like: more is repeated than fits into memory; state what the trials saw"))
      << said;
  EXPECT_LT(room, 20000U);
}

TEST(observation, kept_of_a_stack_is_shorter) {
  auto o = trial({no_memory, success});
  o.calls[0].milliseconds = 1453.645;
  o.calls[1].milliseconds = 0.000123456;
  o.milliseconds = 1453.645;
  o.library_log = {"cublasLtMatmul: refused: 7 [x] y", "other"};
  o.stdout_text =
      "[2026-11-21 23:56:42][cublasLt][5595][Error][cublasLtMatmul] refused: 7 [x] y\nkept\n[cublasLtMatmul] "
      "refused\n"
      "[1][cublasLtMatmul] refused: 7 [x] y";
  o.stderr_text = "[1][cublasLtMatmul] refused: 7 [x] y\n";
  shorten(o);
  EXPECT_EQ(o.calls[0].milliseconds, 1450);
  EXPECT_EQ(o.calls[1].milliseconds, 0.000123);
  EXPECT_EQ(o.milliseconds, 1450);
  EXPECT_EQ(o.stdout_text, "kept\n[cublasLtMatmul] refused\n");
  EXPECT_EQ(o.stderr_text, "[1][cublasLtMatmul] refused: 7 [x] y\n");
}

TEST(observation, how_long_calls_took_is_kept_of_a_stack_where_one_took_long) {
  auto o = trial({success, success});
  o.calls[0].milliseconds = 99.9;
  o.calls[1].milliseconds = 1;
  o.milliseconds = 450;
  auto slow = o;
  shorten(o);
  EXPECT_EQ(o.calls[0].milliseconds, 0);
  EXPECT_EQ(o.calls[1].milliseconds, 0);
  EXPECT_EQ(o.milliseconds, 450);
  slow.calls[0].milliseconds = 100;
  shorten(slow);
  EXPECT_EQ(slow.calls[0].milliseconds, 100);
  EXPECT_EQ(slow.calls[1].milliseconds, 1);
}

TEST(observation, a_single_sample_of_memory_is_kept_of_a_stack_where_nearly_nothing_was_free) {
  const auto kept = [](std::vector<memory_sample> samples) {
    auto o = trial({success});
    o.memory = std::move(samples);
    shorten(o);
    return o.memory.size();
  };
  EXPECT_EQ(kept({{"context opened", 90, 100}}), 0U);
  EXPECT_EQ(kept({{"context opened", 2, 100}}), 0U);
  EXPECT_EQ(kept({{"context opened", 1, 100}}), 1U);
  EXPECT_EQ(kept({{"context opened", 90, 100}, {"filled", 90, 100}}), 2U);
}

TEST(observation, samples_of_opened_contexts_are_kept_of_a_stack_where_there_are_others) {
  const auto kept = [](std::vector<memory_sample> samples) {
    auto o = trial({success});
    o.memory = std::move(samples);
    shorten(o);
    return o.memory;
  };
  const memory_sample opened{"context opened", 90, 100}, again{"context opened", 60, 100},
      full{"context opened", 1, 100}, filled{"filled", 50, 100};
  EXPECT_EQ(kept({opened, again, full, opened}), std::vector{full});
  EXPECT_EQ(kept({opened, filled, again}), (std::vector{opened, filled, again}));
}

TEST(observation, malformed_observations_are_refused_by_line_and_field) {
  const auto observation_refusal = [](std::string_view text) {
    return refusal([&] { return observation_from(cursor(text)); });
  };
  EXPECT_EQ(observation_refusal("{\"calls\": [], \"ended\": \"won\",\n\"context\": \"usable\", \"ms\": 1}"),
            "x.json:1: ended: expected one of completed, crashed, timed_out, not_provoked, harness_failed");
  EXPECT_EQ(
      observation_refusal("{\"calls\": [], \"ended\": \"completed\",\n\"context\": \"fine\", \"ms\": 1}"),
      "x.json:2: context: expected one of usable, damaged, unchecked, none");
  EXPECT_EQ(observation_refusal("{\"ended\": \"completed\",\n\"context\": \"usable\"}"),
            "x.json:1: top level: \"calls\" is missing");
  EXPECT_EQ(observation_refusal("{\"calls\": [],\n\"exit_code\": 4294967296}"),
            "x.json:2: exit_code: 4294967296 does not fit");
  EXPECT_EQ(observation_refusal(R"({"calls": ["cublasCreate"], "times": ["soon"]})"),
            "x.json:1: times[0]: expected a number, found a string");
  EXPECT_EQ(observation_refusal(R"({"calls": ["cublasCreate"], "times": [-1e-3]})"),
            "x.json:1: times[0]: a time must be 0 or more, found -0.001");
  EXPECT_EQ(observation_refusal("{\"calls\": [\"cublasCreate\"],\n\"times\": [1, 2]}"),
            "x.json:2: times: 2 times of 1 calls");
  EXPECT_EQ(observation_refusal(R"({"calls": ["cublasCreate, fine"]})"),
            "x.json:1: calls[0]: numbers are right or wrong, not \"fine\"");
  EXPECT_EQ(observation_refusal("{\"calls\": [\n\"helper\"]}").substr(0, 28),
            "x.json:2: calls[0]: \"helper\"");
  EXPECT_EQ(observation_refusal("{\"calls\": [], \"after\": [\n\"helper\"]}").substr(0, 28),
            "x.json:2: after[0]: \"helper\"");
  EXPECT_EQ(observation_refusal(R"({"calls": [{"step": "cublasCreate", "text": "f"}]})"),
            "x.json:1: calls[0].text: unknown key");
  EXPECT_EQ(observation_refusal("{\"calls\": [\n\"cublasCreate:\",\n\"cublasCreate: X\"]}"),
            "x.json:3: calls[1]: stands behind a call that has not returned");
  EXPECT_EQ(observation_refusal("{\"calls\": [\"cublasCreate:\"],\n\"after\": [\"cublasCreate\"]}"),
            "x.json:2: after[0]: stands behind a call that has not returned");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "memory": [["before"]]})"),
            "x.json:1: memory[0]: 1 items, and at least 2 are needed");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "memory": [["before", 1, 2, 3]]})"),
            "x.json:1: memory[0][3]: there is no item behind the first 3");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "measurements": [["rows", "soon"]]})"),
            R"(x.json:1: measurements[0][1]: expected a number, "nan", "inf" or "-inf")");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "notes": [{"name": "n", "text": "t"}]})"),
            "x.json:1: notes[0]: expected an array, found an object");
  EXPECT_EQ(observation_refusal("{\"colour\": 1}"), "x.json:1: colour: unknown key");
  EXPECT_EQ(observation_refusal("[]"), "x.json:1: top level: expected an object, found an array");
}

TEST(observation, arm_kinds_have_names) {
  for (const auto kind : {arm_kind::control, arm_kind::fault, arm_kind::remedy, arm_kind::dead_end})
    EXPECT_EQ(read_json_value<arm_kind>(cursor("\"" + to_string(kind) + "\"")), kind);
  EXPECT_EQ(refusal([] { return read_json_value<arm_kind>(cursor("\"cure\"")); }),
            "x.json:1: top level: expected one of control, fault, remedy, dead_end");
}

}  // namespace
}  // namespace cufault
