// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Trials as JSON, and what is kept of them in the folder of a stack.
#include "reports/base/json_fields.hpp"
#include "reports/model/tests/examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
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
  constexpr auto one_call = R"("calls":[{"api":"cublasCreate","status":"CUBLAS_STATUS_SUCCESS"}])";
  EXPECT_EQ(observation_json(o).dump(), fmt::format("{{{}}}", one_call));
  EXPECT_EQ(observation_from(cursor(fmt::format("{{{}}}", one_call))).exit_code, 0);
  EXPECT_FALSE(observation_from(cursor(fmt::format(R"({{"ended":"crashed",{}}})", one_call))).exit_code);
  o.ended = outcome::not_provoked;
  EXPECT_EQ(observation_from(cursor(dumped(o))).exit_code, 0);
  o.exit_code.reset();
  for (const auto ended : {outcome::completed, outcome::crashed}) {
    o.ended = ended;
    EXPECT_FALSE(observation_json(o).contains("exit_code")) << "there is none to write";
  }
}

TEST(observation, names_what_is_measured) {
  auto o = trial({});
  o.memory = {{"before", 5, 6}, {"after", 4, 0}};
  o.measurements = {{"rows", 148, ""}, {"workspace", 0.5, "MiB"}};
  o.notes = {{"printed", ""}};
  o.exit_code = 0;
  EXPECT_EQ(observation_json(o).dump(),
            R"({"calls":[],"memory":[{"at":"before","free":5,"total":6},{"at":"after","free":4,"total":0}],)"
            R"("measurements":[{"name":"rows","value":148},{"name":"workspace","value":0.5,"unit":"MiB"}],)"
            R"("notes":[{"name":"printed","text":""}]})");
}

TEST(call, that_has_not_returned_has_no_status) {
  EXPECT_EQ(call_json(call("cublasCreate", "")).dump(), R"({"api":"cublasCreate"})");
  const call_record again = call_from(cursor(R"({"api":"cublasCreate"})"));
  EXPECT_FALSE(again.what.ok);
  EXPECT_EQ(again.what.status, "");
  EXPECT_EQ(again.last_error, "") << "nobody read it";
  EXPECT_EQ(refusal([] { return call_from(cursor(R"({"api":"cublasCreate","ok":true})")); }),
            "x.json:1: ok: the call has no status: it did not return");
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
  const std::string create = R"({"api": "cublasCreate", "status": "X", "ok": false})",
                    pending = R"({"api": "cublasCreate"})";
  EXPECT_EQ(observation_refusal(R"({"calls": [{"api": "cublasCreate", "status": "X", "ms": -1e-3}]})"),
            "x.json:1: calls[0].ms: a time must be 0 or more, found -0.001");
  EXPECT_EQ(observation_refusal(R"({"calls": [{"api": "cublasCreate", "numbers": "fine"}]})"),
            "x.json:1: calls[0].numbers: expected one of unchecked, right, wrong");
  EXPECT_TRUE(observation_refusal("{\"calls\": [\n{\"api\": \"helper\"}]}")
                  .starts_with("x.json:2: calls[0].api: \"helper\" is no function"));
  EXPECT_TRUE(observation_refusal("{\"calls\": [], \"after\": [\n{\"api\": \"helper\"}]}")
                  .starts_with("x.json:2: after[0].api: \"helper\" is no function"));
  EXPECT_EQ(observation_refusal(R"({"calls": [{"api": "cublasCreate", "text": "f"}]})"),
            "x.json:1: calls[0].text: unknown key");
  EXPECT_EQ(observation_refusal(R"({"calls": [{"status": "X"}]})"), "x.json:1: calls[0]: \"api\" is missing");
  EXPECT_EQ(observation_refusal("{\"calls\": [" + pending + ",\n" + create + "]}"),
            "x.json:2: calls[1]: stands behind a call that has not returned");
  EXPECT_EQ(observation_refusal("{\"calls\": [" + pending + "],\n\"after\": [" + create + "]}"),
            "x.json:2: after[0]: stands behind a call that has not returned");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "memory": [{"at": "before"}]})"),
            "x.json:1: memory[0]: \"free\" is missing");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "measurements": [{"name": "rows", "value": "soon"}]})"),
            R"(x.json:1: measurements[0].value: expected a number, "nan", "inf" or "-inf")");
  EXPECT_EQ(observation_refusal(R"({"calls": [], "notes": [["n", "t"]]})"),
            "x.json:1: notes[0]: expected an object, found an array");
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
