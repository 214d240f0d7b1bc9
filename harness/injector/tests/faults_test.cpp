// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Sticky errors, calls that do not happen, and call stacks.
#include "harness/injector/tests/injector_fixture.hpp"

#include <set>

namespace cufault {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

const std::string fault_probe = tree + "/bin/injector_fault_probe";

class faults : public injector {
 protected:
  /// Result of each word.
  std::string said(const std::string& words, const std::string& rule = "", const std::string& more = "") {
    const auto all = lines_of(fault_probe + " " + words, rule.empty() ? "" : rules(rule), more);
    return all.empty() ? "nothing" : all.back();
  }
  std::vector<std::string> stacks_of(const std::string& event) {
    std::vector<std::string> all;
    for (const json& each : events(event)) all.push_back(each["stack"]);
    return all;
  }
};

TEST_F(faults, a_call_has_its_number_among_all_of_its_process_whenever_rules_come) {
  const std::string fails = R"('{"rules": [{"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"}]}')";
  EXPECT_EQ(said("a a a " + fails + " a f a '{\"rules\": []}' a a " + fails + " a"),
            "0 0 0 set0 2 2 2 set0 0 0 set0 2");
  std::vector<int> numbers;
  for (const json& each : events("injected")) numbers.push_back(each["call"]);
  EXPECT_THAT(numbers, ElementsAre(4, 1, 5, 8)) << "the second is the child's";
}

// ---- sticky ----

const std::string lost = R"({"function": "cuMemAlloc", "return": "LAUNCH_FAILED", "sticky": true)";

TEST_F(faults, a_sticky_error_fails_what_comes_later_in_its_context) {
  EXPECT_EQ(said("a a m v a", lost + R"(, "skip": 1, "hits": 1})"), "0 719 719:0 0:13000 719");
  const auto injected = events("injected"), later = events("sticky");
  ASSERT_THAT(injected, SizeIs(1));
  EXPECT_THAT(injected[0]["context"].get<std::string>(), MatchesRegex("0x[0-9a-f]+"));
  ASSERT_THAT(later, SizeIs(2));
  EXPECT_EQ(later[0]["function"], "cuMemcpyHtoD_v2");
  for (const json& each : later) {
    EXPECT_EQ(each["did"], "CUDA_ERROR_LAUNCH_FAILED");
    EXPECT_EQ(each["context"], injected[0]["context"]);
    EXPECT_EQ(each["ordinal"], 2) << "of the call that lost it";
    EXPECT_EQ(each["caller"], injected[0]["caller"]);
  }
  EXPECT_EQ(events("rule").at(0)["held"], 3) << "rules count what a sticky error fails";
  EXPECT_EQ(events("rule").at(0)["acted"], 1);
}

TEST_F(faults, a_sticky_error_is_of_one_context) {
  EXPECT_EQ(said("a c a p a s a t", lost + R"(, "hits": 1})"), "719 0 0 0 719 0 0 719")
      << "the new thread's current context is the primary one";
  EXPECT_EQ(said("c a p a s a", lost + R"(, "hits": 1})"), "0 719 0 0 0 719");
  EXPECT_EQ(said("a f a", lost + R"(, "hits": 1})"), "719 0 719") << "another process has none";
}

TEST_F(faults, a_sticky_error_ends_with_a_context_but_not_by_a_reset) {
  EXPECT_EQ(said("c a d c a", lost + R"(, "hits": 1})"), "0 719 0 0 0");
  EXPECT_EQ(said("a r a", lost + R"(, "hits": 1})"), "719 0 719") << "as records have it of cudaDeviceReset";
}

TEST_F(faults, a_sticky_error_ends_with_its_rule) {
  EXPECT_EQ(said("a a '{\"rules\": []}' a", lost + R"(, "hits": 1})"), "719 719 set0 0");
  EXPECT_EQ(said("n a p a", lost + R"(, "hits": 1})"), "0 0 0 719") << "it waits for a context";
}

TEST_F(faults, a_sticky_error_may_come_behind_the_call_and_calls_are_logged_all_the_same) {
  EXPECT_EQ(said("m a m",
                 R"({"function": "cuMemAlloc", "return": "ILLEGAL_ADDRESS", "sticky": true, "when": "after"},
                             {"function": "cuMemcpyHtoD", "log": true})"),
            "0:7 700 700:0");
  const auto calls = events("call");
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[1]["result"], "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(faults, only_codes_that_lose_a_context_are_sticky) {
  EXPECT_THAT(lines_of(fault_probe + " a",
                       rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "sticky": true})")),
              ElementsAre(HasSubstr("rules[0].return: CUDA_ERROR_OUT_OF_MEMORY is not said to lose"), "0"));
  EXPECT_EQ(
      said("a m", R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "sticky": true, "force": true})"),
      "2 2:0");
}

// ---- calls that do not happen ----

TEST_F(faults, a_dropped_call_says_success_and_does_nothing) {
  EXPECT_EQ(said("m m m", R"({"function": "cuMemcpyHtoD", "drop_call": true, "skip": 1, "hits": 1})"),
            "0:7 0:0 0:7");
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_EQ(events("injected")[0]["did"], "dropped");
}

TEST_F(faults, a_dropped_launch_does_not_come_to_the_driver) {
  EXPECT_EQ(said("k k k", R"({"function": "cuLaunchKernel", "drop_call": true, "skip": 1, "hits": 1})"),
            "11111110 0 11111110");
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_EQ(events("injected")[0]["function"], "cuLaunchKernel");
  EXPECT_EQ(events("injected")[0]["did"], "dropped");
}

TEST_F(faults, a_glob_drops_what_can_be_dropped_alone) {
  EXPECT_EQ(said("a m", R"({"function": "cuMem*", "drop_call": true})"), "0 0:0");
  EXPECT_THAT(events("injected"), SizeIs(1));
}

// ---- call stacks ----

const std::string once = R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "once_per": "stack"})";

TEST_F(faults, a_rule_may_hold_once_for_each_call_stack) {
  EXPECT_EQ(said("1 1 2 2 1 9 9", once), "2 0 2 0 0 2 0");
  EXPECT_EQ(events("rule").at(0)["held"], 3) << "skip and hits count stacks";
}

TEST_F(faults, stacks_are_told_of_what_is_injected_and_of_calls_where_a_rule_asks) {
  said("1 2", R"({"function": "cuMemAlloc", "log": true, "stack": true})");
  const auto told = stacks_of("call");
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told, Each(MatchesRegex("[0-9a-f]{16}")));
  EXPECT_NE(told[0], told[1]);
  fs::remove(log());
  said("1", R"({"function": "cuMemAlloc", "log": true})");
  EXPECT_FALSE(events("call").at(0).contains("stack"));
  fs::remove(log());
  said("1 2", R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})");
  EXPECT_EQ(stacks_of("injected"), told) << "as a rule that asks has them";
}

TEST_F(faults, stacks_are_the_same_in_each_run_and_in_a_stripped_program) {
  const std::string rule = R"({"function": "cuMemAlloc", "log": true, "stack": true})";
  said("1 2 9", rule);
  said("1 2 9", rule);
  auto told = stacks_of("call");
  ASSERT_THAT(told, SizeIs(6));
  EXPECT_EQ(std::set(told.begin(), told.end()).size(), 3U);
  if (emulated) GTEST_SKIP() << "the program is for another processor";
  const fs::path stripped = folder / "injector_fault_probe";
  ASSERT_THAT(said_by("strip -o " + stripped.string() + " " + fault_probe + " 2>&1"), SizeIs(0));
  lines_of(stripped.string() + " 1 2 9", rules(rule));
  told = stacks_of("call");
  ASSERT_THAT(told, SizeIs(9));
  EXPECT_EQ(std::set(told.begin(), told.end()).size(), 3U);
}

TEST_F(faults, stacks_of_a_library_end_at_the_program_where_it_asks_for_that) {
  said("3 4 e 3 4 1 2", R"({"function": "cuMemAlloc", "log": true, "stack": true})");
  const auto told = stacks_of("call");
  ASSERT_THAT(told, SizeIs(6));
  EXPECT_NE(told[0], told[1]) << "the program's callers are part of the stack";
  EXPECT_EQ(told[2], told[3]);
  EXPECT_NE(told[2], told[0]);
  EXPECT_NE(told[4], told[5]) << "calls by the program itself";
}

TEST_F(faults, a_rule_may_hold_for_one_call_stack) {
  said("1 2 9", R"({"function": "cuMemAlloc", "log": true, "stack": true})");
  const auto told = stacks_of("call");
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(said("1 2 1 2 9 2 2", R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "stack": ")" +
                                      told[1] + R"(", "skip": 1, "hits": 1})"),
            "0 0 0 2 0 0 0")
      << "skip and hits count calls of that stack";
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_EQ(events("injected")[0]["stack"], told[1]);
  EXPECT_EQ(events("rule").back()["held"], 4);
  EXPECT_EQ(said("1 2 1 2", "", "CUFAULT_FAIL=cuMemAlloc_v2@" + told[1] + ":2=OUT_OF_MEMORY "), "0 0 0 2");
  EXPECT_EQ(said("1 2 1 2 1 9", R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "stack": ")" +
                                    told[1] + R"(", "skip": 1, "then_any_stack": true})"),
            "0 0 0 2 2 2")
      << "from the second call of that stack on";
}

TEST_F(faults, threads_share_what_a_rule_knows_of_stacks) {
  EXPECT_EQ(said("8", once), "joined");
  EXPECT_THAT(events("injected"), SizeIs(1)) << "4,000 calls by one way";
}

}  // namespace
}  // namespace cufault
