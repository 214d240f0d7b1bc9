// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Trials as JSON, and what is kept of them in the folder of a stack.
#include "reports/base/json_fields.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/tests/examples.hpp"
#include "reports/model/trials_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

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
  EXPECT_EQ(j[2].dump(), R"({"level":3,"like":0,"times":{"0":2.0,"1":2.0},"ms":4})");
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
  EXPECT_EQ(trials_refusal(R"([{"calls": ["cublasCreate"]}, {"like": 0, "times": {"1": 2}}])"),
            "x.json:1: [1].times.1: there are 1 calls, counted from 0");
}

observation table(const std::vector<std::pair<std::string, std::optional<std::vector<std::string>>>>& calls) {
  observation o = trial({});
  for (const auto& [status, written] : calls) {
    o.calls.push_back(call("cublasSgemm", status));
    o.calls.back().what.ok = status == success_of("cublasSgemm");
    o.calls.back().last_error = "cudaSuccess";
    if (written) o.calls.back().what.facts["written"] = *written;
  }
  return o;
}

TEST(observation, what_most_calls_wrote_is_stated_once) {
  const std::string ok = "CUBLAS_STATUS_SUCCESS", bad = "CUBLAS_STATUS_INVALID_VALUE";
  using words = std::vector<std::string>;
  const auto o = table({{ok, words{"C"}},
                        {ok, words{"C"}},
                        {ok, words{}},
                        {bad, words{}},
                        {bad, words{"A", "C"}},
                        {bad, std::nullopt},
                        {ok, std::nullopt}});
  const auto j = observation_json(o);
  EXPECT_EQ(j["written"].dump(), R"(["C"])");
  EXPECT_EQ(j["calls"].dump(),
            R"(["cublasSgemm","cublasSgemm",{"step":"cublasSgemm","facts":{"written":[]}},)"
            R"("cublasSgemm: _INVALID_VALUE",)"
            R"({"step":"cublasSgemm: _INVALID_VALUE","facts":{"written":["A","C"]}},)"
            R"({"step":"cublasSgemm: _INVALID_VALUE","facts":{"written":null}},)"
            R"({"step":"cublasSgemm","facts":{"written":null}}])");
  const auto again = observation_from(cursor(j.dump()));
  ASSERT_EQ(again.calls.size(), o.calls.size());
  for (std::size_t i = 0; i < o.calls.size(); ++i) EXPECT_EQ(again.calls[i].what, o.calls[i].what) << i;
  const auto few = table(
      {{ok, words{"C"}}, {ok, words{"C"}}, {ok, std::nullopt}, {bad, std::nullopt}, {bad, std::nullopt}});
  EXPECT_FALSE(observation_json(few).contains("written")) << "known of fewer than half of the calls";
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
      "[2026-11-21 23:56:42][cublasLt][5595][Error][cublasLtMatmul] refused: 7 [x] "
      "y\nkept\n[cublasLtMatmul] "
      "refused\n"
      "[1][cublasLtMatmul] refused: 7 [x] y";
  o.stderr_text = "[1][cublasLtMatmul] refused: 7 [x] y\n";
  shorten(o);
  EXPECT_EQ(o.calls[0].milliseconds, 1450);
  EXPECT_EQ(o.calls[1].milliseconds, 0);
  EXPECT_EQ(o.milliseconds, 1450);
  EXPECT_EQ(o.stdout_text, "kept\n[cublasLtMatmul] refused\n");
  EXPECT_EQ(o.stderr_text, "[1][cublasLtMatmul] refused: 7 [x] y\n");
}

TEST(observation, how_long_a_call_took_is_kept_of_a_stack_where_it_took_long) {
  auto o = trial({success, success});
  o.calls[0].milliseconds = 299.9;
  o.calls[1].milliseconds = 300;
  o.milliseconds = 450;
  shorten(o);
  EXPECT_EQ(o.calls[0].milliseconds, 0);
  EXPECT_EQ(o.calls[1].milliseconds, 300);
  EXPECT_EQ(o.milliseconds, 450);
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
  EXPECT_EQ(observation_refusal(R"({"calls": ["cublasCreate"], "times": {"0": "soon"}})"),
            "x.json:1: times.0: expected a number, found a string");
  EXPECT_EQ(observation_refusal(R"({"calls": ["cublasCreate"], "times": {"0": -1e-3}})"),
            "x.json:1: times.0: a time must be 0 or more, found -0.001");
  for (const char* place : {"1", "x", "0x", "-1", "18446744073709551616"})
    EXPECT_EQ(observation_refusal(std::string("{\"calls\": [\"cublasCreate\"],\n\"times\": {\"") + place +
                                  "\": 1}}"),
              std::string("x.json:2: times.") + place + ": there are 1 calls, counted from 0")
        << place;
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
            "x.json:1: top level: expected one of control, fault, remedy, dead_end, diagnosis");
}

}  // namespace
}  // namespace cufault
