// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/expectation.hpp"

#include "reports/model/tests/expectation_examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

/// A file of one expectation, with the given members beside case and arm.
std::string file_with(std::string_view shared, std::string_view own) {
  return fmt::format("{{\"case\": \"memory.leak\", {}}}\n{{\"arms\": [\"fault\"], {}}}\n", shared, own);
}

std::string expectations_refusal(std::string_view text) {
  return refusal([&] { return expectations_from("x.jsonl", text); });
}

TEST(expectations, are_read_with_their_place) {
  const auto all = expectations_from(
      "x.jsonl", file_with(R"("when": {"cublas": ">=13"}, "stacks": ["h200-580", "h100-580"])",
                           R"("digest": "cublasCreate: X #1")") +
                     R"({"arms": ["control", "other"], "digest": "d #2"})"
                     "\n"
                     R"({"case": "memory.pool", "when": {}, "stacks": ["s"]})"
                     "\n"
                     R"({"arms": ["fault"], "digest": "d #3"})");
  ASSERT_EQ(all.size(), 4U);
  const auto& e = all[0];
  EXPECT_EQ(e.case_name, "memory.leak");
  EXPECT_EQ(e.arm, "fault");
  EXPECT_EQ(e.stacks, (std::vector<std::string>{"h200-580", "h100-580"}));
  EXPECT_EQ(e.digest, "cublasCreate: X #1");
  EXPECT_EQ(e.source, "x.jsonl:2");
  EXPECT_EQ(e.when.by_key.at("cublas"), ">=13");
  EXPECT_FALSE(e.flaky);
  EXPECT_TRUE(e.seen.empty()) << "it points to a record, which nobody read yet";
  EXPECT_EQ(all[1].case_name, "memory.leak");
  EXPECT_EQ(all[1].arm, "control");
  EXPECT_EQ(all[1].stacks, e.stacks);
  EXPECT_EQ(all[2].arm, "other");
  EXPECT_EQ(all[2].digest, "d #2");
  EXPECT_EQ(all[2].source, all[1].source);
  EXPECT_EQ(all[3].case_name, "memory.pool");
  EXPECT_EQ(all[3].stacks, std::vector<std::string>{"s"});
  EXPECT_TRUE(all[3].when.by_key.empty());
}

TEST(expectations, that_are_malformed_are_refused_by_line_and_field) {
  constexpr auto shared = R"("when": {}, "stacks": ["s"])", own = R"("digest": "d")";
  EXPECT_EQ(expectations_refusal(file_with(shared, own)), "(nothing was refused)");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": [])", own)),
            "x.jsonl:1: stacks: must not be empty: an expectation points to what was seen");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": [""])", own)),
            "x.jsonl:1: stacks[0]: must not be empty");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": "s")", own)),
            "x.jsonl:1: stacks: expected an array, found a string");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {})", own)),
            "x.jsonl:1: top level: \"stacks\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(R"("stacks": ["s"])", own)),
            "x.jsonl:1: top level: \"when\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": ["s"], "note": 1)", own)),
            "x.jsonl:1: note: unknown key");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("rates": [1], "reason": "r")")),
            "x.jsonl:2: top level: \"digest\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("digest": "")")),
            "x.jsonl:2: digest: must not be empty");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("digest": "d", "signatures": [])")),
            "x.jsonl:2: signatures: unknown key");
  const auto line_of = [&](const char* arms) {
    return expectations_refusal(file_with(shared, own) + "{\"digest\": \"d\"" + arms + "}");
  };
  EXPECT_EQ(line_of(R"(, "arms": 3)"), "x.jsonl:3: arms: expected an array, found a number");
  EXPECT_EQ(line_of(R"(, "arms": [3])"), "x.jsonl:3: arms[0]: expected a string, found a number");
  EXPECT_EQ(line_of(R"(, "arms": ["a", ""])"), "x.jsonl:3: arms[1]: must not be empty");
  EXPECT_EQ(line_of(R"(, "arms": [])"), "x.jsonl:3: arms: must not be empty");
  EXPECT_EQ(line_of(""), "x.jsonl:3: top level: \"arms\" is missing");
  EXPECT_EQ(line_of(R"(, "arm": "a")"),
            "x.jsonl:3: arm: is a list, arms; if an older cufault wrote this, bless it again");
  EXPECT_EQ(expectations_refusal("{\"case\": \"\"}"), "x.jsonl:1: case: must not be empty");
  EXPECT_EQ(expectations_refusal("{\"arms\": [\"a\"], \"digest\": \"d\"}"),
            "x.jsonl:1: top level: arms stand in front of the line of their case: "
            "{\"case\": ..., \"when\": ..., \"stacks\": ...}");
}

TEST(expectations, of_the_schema_before_get_one_clear_line) {
  EXPECT_EQ(
      expectations_refusal(
          R"({"case": "memory.leak", "arm": "fault", "when": {}, "stacks": ["s"], "digest": "d"})"),
      "x.jsonl:1: arm: stands in a line of its own, behind that of its case; if an older cufault wrote this, "
      "bless it again");
}

TEST(expectations, that_share_more_than_fits_into_memory_are_refused) {
  std::string text =
      R"({"case": "memory.leak", "when": {}, "stacks": [")" + std::string(1 << 20, 's') + "\"]}\n";
  for (int i = 0; i < 1000; ++i) text += "{\"arms\": [\"a\"], \"digest\": \"d\"}\n";
  EXPECT_EQ(expectations_refusal(text), "x.jsonl:257: top level: arms share more than fits into memory");
}

TEST(expectations, state_once_what_arms_of_a_case_share) {
  const auto of = [](const char* arm, const char* conditions) {
    return expectation{
        .case_name = "memory.leak", .arm = arm, .when = when(conditions), .stacks = {"s"}, .digest = "d #1"};
  };
  expectation other = of("aa", "{}"), races = of("ab", "{}");
  other.digest = "d #2";
  races.flaky = stated_rate{.rates = {0.5, 0.5}, .reason = "a race"};
  const std::string text =
      expectations_text({of("b", "{}"), of("c", R"({"cublas": "13"})"), other, races, of("a", "{}")});
  EXPECT_EQ(text, R"({"case":"memory.leak","when":{},"stacks":["s"]})"
                  "\n"
                  R"({"arms":["a","b"],"digest":"d #1"})"
                  "\n"
                  R"({"arms":["aa"],"digest":"d #2"})"
                  "\n"
                  R"({"arms":["ab"],"rates":[0.5,0.5],"reason":"a race","digest":"d #1"})"
                  "\n"
                  R"({"case":"memory.leak","when":{"cublas":"13"},"stacks":["s"]})"
                  "\n"
                  R"({"arms":["c"],"digest":"d #1"})"
                  "\n");
  EXPECT_EQ(expectations_text(expectations_from("x.jsonl", text)), text);
}

std::string with_rates(std::string_view rates) {
  return file_with(R"("when": {}, "stacks": ["s"])", fmt::format("\"digest\": \"d\", {}", rates));
}

TEST(expectations, may_state_rates_with_a_reason) {
  const auto e =
      expectations_from("x.jsonl", with_rates(R"("rates": [0.25, 0.75], "reason": "a race")")).at(0);
  ASSERT_TRUE(e.flaky);
  EXPECT_EQ(e.flaky->rates, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(e.flaky->reason, "a race");
}

TEST(expectations, with_malformed_rates_are_refused) {
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.6], "reason": "a race")")),
            "x.jsonl:2: rates: add up to 1.1, not to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [], "reason": "a race")")),
            "x.jsonl:2: rates: add up to 0, not to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [-0.5, 1.5], "reason": "a race")")),
            "x.jsonl:2: rates[0]: a rate is from 0 to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": ["nan", 1], "reason": "a race")")),
            "x.jsonl:2: rates[0]: expected a number, found a string");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.5])")),
            "x.jsonl:2: top level: \"reason\" is missing");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.5], "reason": "")")),
            "x.jsonl:2: reason: must not be empty");
  EXPECT_EQ(expectations_refusal(with_rates(R"("reason": "a race")")),
            "x.jsonl:2: reason: belongs to rates, and there are none");
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
  set.put(with_conditions(R"({"cublas": "12.9 || >=14"})", "a:4"));
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "8.0"}}), "a:4");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "9.0"}}), "a:3");
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
  set.put(with_conditions(R"({"cublas": "13.1 || >=13 <14"})", "a:20"));
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

TEST(expectation_set, replaces_equal_conditions_however_often) {
  expectation_set set;
  for (const auto* conditions : {R"({"cublas": "12 || 13"})", R"({"cublas": "13 || 12"})"})
    for (int i = 0; i < 2; ++i) set.put(with_conditions(conditions, ""));
  EXPECT_EQ(set.all().size(), 2U);
}

TEST(expectation_set, knows_what_could_hold_on_a_stack_of_which_less_is_known) {
  expectation_set set;
  set.put(with_conditions(R"({"compute_capability": "9.0", "cublas": "13.1"})", "a:1"));
  EXPECT_TRUE(set.may_cover("memory.leak", "fault", {{"cublas", "13.1"}}));
  EXPECT_TRUE(set.may_cover("memory.leak", "fault", {}));
  EXPECT_FALSE(set.may_cover("memory.leak", "fault", {{"cublas", "13.2"}}));
  EXPECT_FALSE(set.may_cover("memory.leak", "other", {}));
}

}  // namespace
}  // namespace cufault
