// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/expectation.hpp"

#include "reports/tests/examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

using namespace examples;

conditions when(std::string_view json) {
  return conditions::parse(cursor(json));
}

bool cublas_holds(std::string_view comparisons, const std::string& version) {
  return when(fmt::format(R"({{"cublas": "{}"}})", comparisons)).hold({{"cublas", version}});
}

TEST(conditions, that_are_empty_always_hold) {
  EXPECT_TRUE(when("{}").hold({}));
  EXPECT_EQ(when("{}").specificity(), 0);
  EXPECT_EQ(when("{}").text(), "any stack");
}

TEST(conditions, compare_versions_number_by_number) {
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.0"));
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.9.70"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.2.0"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.0.2"));
  EXPECT_TRUE(cublas_holds("<13.10", "13.9"));
  EXPECT_TRUE(cublas_holds(">9", "12.0"));
}

TEST(conditions, know_each_comparison_on_both_sides_of_its_edge) {
  EXPECT_TRUE(cublas_holds("=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds(">13.1", "13.1.1"));
  EXPECT_FALSE(cublas_holds(">13.1", "13.1"));
  EXPECT_TRUE(cublas_holds("<=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("<=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds("<13.1", "13.0.9"));
  EXPECT_FALSE(cublas_holds("<13.1", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds(">=13.1", "13.0.9"));
}

TEST(conditions, count_missing_parts_as_nought) {
  EXPECT_TRUE(cublas_holds("13.1", "13.1.0.0"));
  EXPECT_TRUE(cublas_holds("13.1.0", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.0", "13"));
}

TEST(conditions, compare_other_text_for_equality) {
  const auto lazy = when(R"({"module_loading": "LAZY"})");
  EXPECT_TRUE(lazy.hold({{"module_loading", "LAZY"}}));
  EXPECT_FALSE(lazy.hold({{"module_loading", "EAGER"}}));
  EXPECT_FALSE(cublas_holds(">=13", "unknown"));
}

TEST(conditions, on_what_is_unknown_do_not_hold) {
  EXPECT_FALSE(when(R"({"compute_capability": "9.0"})").hold({{"cublas", "13.1"}}));
  EXPECT_FALSE(
      when(R"({"cublas": "13.1", "driver": ">=580"})").hold({{"cublas", "13.1"}, {"driver", "570.1"}}));
}

TEST(conditions, are_as_specific_as_their_bounds) {
  EXPECT_EQ(when(R"({"cublas": ">=13"})").specificity(), 1);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14"})").specificity(), 2);
  EXPECT_EQ(when(R"({"compute_capability": "9.0"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14", "compute_capability": "=9.0"})").specificity(), 4);
}

TEST(conditions, read_back_as_text_and_json) {
  const auto c = when(R"({"compute_capability": "9.0", "cublas": ">=13 <14"})");
  EXPECT_EQ(c.text(), "compute_capability 9.0, cublas >=13 <14");
  EXPECT_EQ(when(c.json().dump()).by_key, c.by_key);
}

TEST(conditions, that_are_malformed_are_refused) {
  for (const auto* bad :
       {"", " ", ">=", ">= 13", ">=LAZY", "13.x <", "==13", "=>13", ">=13 <", ">13.", "<.1"})
    EXPECT_EQ(refusal([&] { when(fmt::format(R"({{"cublas": "{}"}})", bad)); }),
              R"(x.json:1: cublas: expected comparisons joined by spaces, such as ">=13.1 <13.2" or "9.0")")
        << bad;
  EXPECT_EQ(
      refusal([] { when("{\n\"colour\": \"red\"}"); }),
      "x.json:2: colour: unknown condition; known are cublas, cublaslt, driver, runtime, compute_capability, "
      "module_loading, other_cublas");
  EXPECT_EQ(refusal([] { when("{\"cublas\": 13}"); }), "x.json:1: cublas: expected a string, found a number");
}

constexpr auto one_signature =
    R"([{"fault": [{"call": "f", "status": "BAD"}], "outcome": "completed", "context": "usable", "numbers": "unchecked"}])";

/// A file of one expectation with the given members beside its arm.
std::string file_with(std::string_view members) {
  return fmt::format(
      "{{\"schema\": 1, \"case\": \"memory.leak\",\n\"expectations\": [\n{{\"arm\": \"fault\", {}}}]}}",
      members);
}

std::string told(std::string_view text) {
  return refusal([&] { return expectations_from(cursor(text), "memory.leak"); });
}

TEST(expectations, are_read_with_their_place) {
  const auto list = expectations_from(
      cursor(file_with(fmt::format(R"("when": {{"cublas": ">=13"}}, "signatures": {}, "record": "r.json")",
                                   one_signature))),
      "memory.leak");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].case_name, "memory.leak");
  EXPECT_EQ(list[0].arm, "fault");
  EXPECT_EQ(list[0].record, "r.json");
  EXPECT_EQ(list[0].source, "x.json:3");
  EXPECT_EQ(list[0].when.by_key.at("cublas"), ">=13");
  EXPECT_FALSE(list[0].flaky);
  ASSERT_EQ(list[0].signatures.size(), 1U);
  EXPECT_EQ(list[0].signatures[0].fault[0].status, "BAD");
}

TEST(expectations, of_another_schema_or_case_are_refused) {
  EXPECT_EQ(told(R"({"schema": 2, "future": 1})"), "x.json:1: schema: schema 2, but this build reads 1 only");
  EXPECT_EQ(told("{\"schema\": 1,\n\"case\": \"memory.other\", \"expectations\": []}"),
            "x.json:2: case: \"memory.other\" in a file named for \"memory.leak\"");
  EXPECT_EQ(told("{\"schema\": 1, \"case\": \"memory.leak\",\n\"expectation\": []}"),
            "x.json:2: expectation: unknown key");
}

TEST(expectations, that_are_malformed_are_refused_by_line_and_field) {
  EXPECT_EQ(told(file_with(R"("when": {}, "signatures": [])")),
            "x.json:3: expectations[0].signatures: must not be empty");
  EXPECT_EQ(told(file_with(fmt::format(R"("when": {{}}, "signatures": {})", one_signature))),
            "x.json:3: expectations[0]: \"record\" is missing");
  EXPECT_EQ(told(file_with(fmt::format(R"("when": {{}}, "signatures": {}, "record": "")", one_signature))),
            "x.json:3: expectations[0].record: must not be empty");
  EXPECT_EQ(told(file_with(fmt::format(R"("signatures": {}, "record": "r")", one_signature))),
            "x.json:3: expectations[0]: \"when\" is missing");
  EXPECT_EQ(told(file_with("\"note\": 1")), "x.json:3: expectations[0].note: unknown key");
  EXPECT_EQ(told("{\"schema\": 1, \"case\": \"memory.leak\", \"expectations\": [\n{\"arm\": 3}]}"),
            "x.json:2: expectations[0].arm: expected a string, found a number");
}

TEST(expectations, that_no_run_could_match_are_refused) {
  const std::string one{one_signature};
  const auto inner = one.substr(1, one.size() - 2);
  EXPECT_EQ(told(file_with(fmt::format(R"("when": {{}}, "signatures": [{0}, {0}], "record": "r")", inner))),
            "x.json:3: expectations[0].signatures[1]: equal to the one before it, which no run can match");
}

TEST(expectations, with_the_same_arm_and_conditions_are_refused) {
  const auto entry =
      fmt::format(R"({{"arm": "a", "when": {{}}, "signatures": {}, "record": "r"}})", one_signature);
  EXPECT_EQ(told(fmt::format("{{\"schema\": 1, \"case\": \"memory.leak\", \"expectations\": [\n{0},\n{0}]}}",
                             entry)),
            "x.json:3: expectations[1]: same arm and conditions as x.json:2");
}

std::string with_rates(std::string_view rates) {
  constexpr auto two_signatures = R"([
{"fault": [], "outcome": "completed", "context": "usable", "numbers": "right"},
{"fault": [], "outcome": "completed", "context": "usable", "numbers": "wrong"}])";
  return file_with(
      fmt::format(R"("when": {{}}, "signatures": {}, "record": "r", {})", two_signatures, rates));
}

TEST(expectations, may_state_rates_with_a_reason) {
  const auto list =
      expectations_from(cursor(with_rates(R"("rates": [0.25, 0.75], "reason": "a race")")), "memory.leak");
  ASSERT_TRUE(list.at(0).flaky);
  EXPECT_EQ(list[0].flaky->rates[1], 0.75);
  EXPECT_EQ(list[0].flaky->reason, "a race");
}

TEST(expectations, with_malformed_rates_are_refused) {
  EXPECT_EQ(told(with_rates(R"("rates": [1], "reason": "a race")")),
            "x.json:5: expectations[0].rates: 1 rates for 2 signatures");
  EXPECT_EQ(told(with_rates(R"("rates": [0.5, 0.6], "reason": "a race")")),
            "x.json:5: expectations[0].rates: add up to 1.1, not to 1");
  EXPECT_EQ(told(with_rates(R"("rates": [-0.5, 1.5], "reason": "a race")")),
            "x.json:5: expectations[0].rates[0]: a rate is from 0 to 1");
  EXPECT_EQ(told(with_rates(R"("rates": [0.5, 0.5])")), "x.json:3: expectations[0]: \"reason\" is missing");
  EXPECT_EQ(told(with_rates(R"("rates": [0.5, 0.5], "reason": "")")),
            "x.json:5: expectations[0].reason: must not be empty");
  EXPECT_EQ(told(with_rates(R"("reason": "a race")")),
            "x.json:5: expectations[0].reason: belongs to rates, and there are none");
}

expectation with_conditions(std::string_view json, std::string source) {
  auto e = expects({trial({no_memory})}, "fault");
  e.when = when(json);
  e.source = std::move(source);
  return e;
}

TEST(expectation_set, finds_the_most_specific_that_holds) {
  expectation_set set;
  set.put(with_conditions("{}", "a:1"));
  set.put(with_conditions(R"({"cublas": ">=13 <14"})", "a:2"));
  set.put(with_conditions(R"({"cublas": ">=12 <13", "compute_capability": "9.0"})", "a:3"));
  const auto found = [&](const stack_keys& stack) { return set.find("memory.leak", "fault", stack)->source; };
  EXPECT_EQ(found({{"cublas", "13.1"}, {"compute_capability", "9.0"}}), "a:2");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "9.0"}}), "a:3");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "8.0"}}), "a:1");
  EXPECT_EQ(found({}), "a:1");
}

TEST(expectation_set, finds_nothing_for_another_arm_case_or_stack) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": "13.1"})", "a:1"));
  EXPECT_EQ(set.find("memory.leak", "control", {{"cublas", "13.1"}}), nullptr);
  EXPECT_EQ(set.find("memory.other", "fault", {{"cublas", "13.1"}}), nullptr);
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.2"}}), nullptr);
  EXPECT_NE(set.find("memory.leak", "fault", {{"cublas", "13.1"}}), nullptr);
}

TEST(expectation_set, refuses_a_tie_naming_both_places) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": ">=13"})", "a:1"));
  set.put(with_conditions(R"({"driver": ">=580"})", "a:9"));
  const stack_keys both{{"cublas", "13.1"}, {"driver", "580.1"}};
  EXPECT_EQ(refusal([&] { return set.find("memory.leak", "fault", both); }),
            "a:9: memory.leak/fault: no more specific than a:1, and both hold on this stack");
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.1"}})->source, "a:1");
  set.put(with_conditions(R"({"cublas": ">=13 <14"})", "a:20"));
  EXPECT_EQ(set.find("memory.leak", "fault", both)->source, "a:20");  // a tie below the best is none
}

TEST(expectation_set, replaces_the_same_arm_and_conditions_only) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": "13.1"})", "old"));
  set.put(with_conditions(R"({"cublas": "13.2"})", "other"));
  set.put(with_conditions(R"({"cublas": "13.1"})", "new"));
  ASSERT_EQ(set.all().size(), 2U);
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.1"}})->source, "new");
}

using expectation_files = in_directory;

TEST_F(expectation_files, in_a_missing_directory_are_an_empty_set) {
  EXPECT_TRUE(expectation_set::load(directory / "none").all().empty());
}

TEST_F(expectation_files, that_are_a_file_themselves_are_refused) {
  const auto file = write("expectations", "");
  EXPECT_EQ(refusal([&] { return expectation_set::load(file); }),
            file.string() + ": cannot be read: Not a directory");
}

TEST_F(expectation_files, come_back_as_they_were_put) {
  expectation_set set;
  auto plain = with_conditions(R"({"cublas": ">=13 <14"})", "");
  plain.signatures = signatures_of({trial({no_memory}, {success}), crash({success})});
  auto race = expects({trial({success}), trial({no_memory})}, "race");
  race.flaky = stated_rate{{0.1, 0.9}, "a race", {"other.json"}};
  set.put(plain);
  set.put(race);
  set.save(directory / "new" / "expectations");

  const auto again = expectation_set::load(directory / "new" / "expectations");
  ASSERT_EQ(again.all().size(), 2U);
  EXPECT_EQ(again.all()[0].signatures, plain.signatures);
  EXPECT_EQ(again.all()[0].when.by_key, plain.when.by_key);
  EXPECT_EQ(again.all()[0].record, plain.record);
  EXPECT_EQ(again.all()[1].flaky->rates, race.flaky->rates);
  EXPECT_EQ(again.all()[1].flaky->reason, "a race");
  EXPECT_EQ(again.all()[1].flaky->also, race.flaky->also);
  EXPECT_EQ(again.all()[1].signatures, race.signatures);
}

TEST_F(expectation_files, of_cases_that_nobody_touched_are_not_written) {
  write("memory.leak.json", R"({"schema": 1, "case": "memory.leak", "expectations": []})");
  write("notes.md", "not JSON");
  auto set = expectation_set::load(directory);
  auto other = with_conditions("{}", "");
  other.case_name = "memory.other";
  set.put(other);
  std::filesystem::remove(directory / "memory.leak.json");
  set.save(directory);
  EXPECT_FALSE(std::filesystem::exists(directory / "memory.leak.json"));
  EXPECT_TRUE(std::filesystem::exists(directory / "memory.other.json"));
}

TEST_F(expectation_files, named_for_another_case_are_refused) {
  const auto file = write("memory.leek.json", R"({"schema": 1, "case": "memory.leak", "expectations": []})");
  EXPECT_EQ(refusal([&] { return expectation_set::load(directory); }),
            file.string() + ":1: case: \"memory.leak\" in a file named for \"memory.leek\"");
}

}  // namespace
}  // namespace cufault
