// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/comparison.hpp"

#include "reports/printers/tests/record_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;

comparison between(const record& before, const record& now) {
  return compare(std::array{before, now});
}

std::string text_of(const comparison& all, const std::string& command, table_style style = table_style::text,
                    arm_extent extent = arm_extent::differences) {
  std::ostringstream out;
  print_comparison(out, all, command, style, extent);
  return out.str();
}

TEST(difference_table, of_equal_records_is_a_line) {
  auto after = example_record();
  *after.stack = {{"keys", {{"cublas", "12.9.1"}}}};
  after.cases[0].arms[1].trials[0].milliseconds = 7;
  const auto all = between(example_record(), after);
  EXPECT_EQ(differing_in(all), 0U);
  EXPECT_TRUE(text_of(all, "diff").ends_with("\n3 arms: 3 as before\n")) << text_of(all, "diff");
}

TEST(difference_table, tells_the_step_that_differs_and_on_request_the_rest) {
  auto after = example_record();
  *after.stack = {{"keys", {{"cublas", "13.2.0"}}}};
  after.cases[0].arms[1].trials = {trial({internal})};
  const auto all = between(example_record(), after);
  const auto text = text_of(all, "diff");
  EXPECT_TRUE(contains(text, "  memory.leak/fault: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR\n")) << text;
  EXPECT_FALSE(contains(text, "context usable")) << text;
  EXPECT_TRUE(contains(text, "3 arms: 2 as before, 1 CHANGED\n")) << text;
  const auto whole = text_of(all, "diff", table_style::text, arm_extent::whole);
  EXPECT_TRUE(contains(whole, "  a: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable\n")) << whole;
  EXPECT_TRUE(contains(whole, "  b: cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; context usable\n")) << whole;
}

TEST(difference_table, counts_what_a_record_was_not_asked_for_and_what_none_observed) {
  auto before = example_record(), after = example_record();
  before.cases[0].arms[1].trials = {not_provoked("no GPU")};
  after.cases[0].arms[1].trials = {not_provoked("no GPU")};
  after.cases[0].arms.pop_back();
  const auto text = text_of(between(before, after), "diff");
  EXPECT_TRUE(contains(text, "3 arms: 1 as before, 1 not asked for, 1 observed in none\n")) << text;
}

TEST(difference_table, by_stack_has_the_last_observed_arm_of_each) {
  auto earlier = example_record(), spoilt = example_record(), other = example_record(),
       rest = example_record();
  earlier.started = "2026-11-20T00:00:00Z";
  earlier.cases[0].arms[1].trials = {trial({success})};
  spoilt.cases[0].arms[1].trials = {not_provoked("no GPU")};
  spoilt.cases[0].arms.pop_back();
  rest.cases[0].name = "memory.rest";
  *other.stack = {{"keys", {{"cublas", "12.0.1"}}}};
  other.cases[0].arms[1].trials = {trial({internal})};
  const auto stacks = merged_by_stack({example_record(), earlier, spoilt, other, rest});
  ASSERT_EQ(stacks.size(), 2U);
  const auto text = text_of(between(stacks[0], stacks[1]), "diff");
  EXPECT_TRUE(contains(text, "memory.leak/fault: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR")) << text;
  EXPECT_TRUE(contains(text, "6 arms: 2 as before, 1 CHANGED, 3 not asked for\n")) << text;
}

TEST(difference_table, takes_an_edge_within_its_band_for_the_same) {
  const auto edge = [](std::int64_t level) {
    auto r = example_record();
    r.cases[0].arms[1].trials = {at_level(0, trial({no_memory})), refined_at(level, trial({no_memory})),
                                 refined_at(level + 1, trial({success})), at_level(128, trial({success}))};
    return r;
  };
  EXPECT_EQ(differing_in(between(edge(70), edge(73))), 0U);
  const auto moved = text_of(between(edge(70), edge(126)), "diff");
  EXPECT_TRUE(contains(moved, "the edge moved: at 126: cublasCreate: SUCCESS → ALLOC_FAILED")) << moved;
}

TEST(difference_table, notes_what_is_no_failure) {
  auto before = example_record(), after = example_record();
  before.cases[0].arms[1].trials[0].calls[0].what.facts["first_failing"] = std::vector<std::int64_t>{7};
  after.cases[0].arms[1].trials[0].calls[0].what.facts["first_failing"] = std::vector<std::int64_t>{10};
  const auto all = between(before, after);
  EXPECT_EQ(exit_code(exit_reasons(all)), 0);
  EXPECT_THAT(text_of(all, "diff"),
              HasSubstr("noted of 1 arm, and no failure.\n"
                        "  memory.leak/fault: cublasCreate: first failing 7 → first failing 10\n"));
}

comparison example_gate() {
  auto before = example_record(), after = example_record();
  *after.stack = {{"keys", {{"cublas", "13.10.0"}}}};
  after.cases[0].arms[1].trials = {trial({internal})};
  after.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, "another"));
  before.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, "lost"));
  comparison all =
      compare(std::array{before, after},
              {.allowances = {{"memory.leak/fault", verdict::changed, "known", "2026-12-31", "a.json:3"},
                              {"*/none", verdict::gone, "of old", "2026-12-31", "a.json:4"},
                              {"*/lost", verdict::absent, "last year", "2025-12-31", "a.json:5"}},
               .today = "2026-11-22",
               .asked = [](std::size_t, const std::string&, const std::string&) { return true; }});
  all.records[0].role = "baseline";
  all.records[1].role = "candidate";
  return all;
}

TEST(gate_table, tells_stacks_first_then_arms_then_allowances) {
  EXPECT_EQ(
      text_of(example_gate(), "gate"),
      "baseline: cuBLAS 13.1.0: 4 arms observed\n"
      "candidate: cuBLAS 13.10.0: 4 arms observed\n"
      "\n"
      "What differs between the stacks:\n"
      "of the stack  baseline  candidate\n"
      "cublas        13.1.0    13.10.0\n"
      "\n"
      "CHANGED, 1 arm: it fails in another way: check what code relies on the old status, then accept it "
      "(cufault "
      "baseline add).\n"
      "  memory.leak/fault: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR [allowed until 2026-12-31: known]\n"
      "\n"
      "ABSENT, 1 arm: recorded before and asked for, and not observed: run the same cases and tiers of "
      "both.\n"
      "  memory.leak: lost (asked for, and not in the record)\n"
      "\n"
      "NEW, 1 arm: nothing is recorded to compare it with: read what was seen.\n"
      "  memory.leak: another\n"
      "\n"
      "allowances that have expired, and cover nothing.\n"
      "  a.json:5: ABSENT of */lost (until 2025-12-31: last year)\n"
      "\n"
      "allowances that nothing needs: remove them.\n"
      "  a.json:4: GONE of */none (until 2026-12-31: of old)\n"
      "\n"
      "5 arms: 2 as before, 1 CHANGED, 1 ABSENT, 1 NEW; 1 case of the candidate executed, the floor is 1\n"
      "\n"
      "gate: FAILED: 1 change that no allowance covers\n");
}

TEST(gate_table, is_a_page_in_markdown) {
  const auto text = text_of(example_gate(), "gate", table_style::markdown);
  EXPECT_TRUE(
      text.starts_with("## cufault gate: FAILED: 1 change that no allowance covers\n\n"
                       "- baseline: cuBLAS 13.1.0: 4 arms observed\n"
                       "- candidate: cuBLAS 13.10.0: 4 arms observed\n"
                       "\n### What differs between the stacks\n\n"
                       "| of the stack | baseline | candidate |\n"
                       "| --- | --- | --- |\n"
                       "| cublas | 13.1.0 | 13.10.0 |\n"))
      << text;
}

TEST(gate_table, says_what_an_arm_does_and_names_arms_that_were_not_observed_by_case) {
  auto before = example_record(), after = example_record();
  for (auto* r : {&before, &after}) r->cases[0].arms[1].summary = "a handle more";
  after.cases[0].arms[1].trials = {trial({internal})};
  for (const char* name : {"one", "two"}) {
    before.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, name));
    after.cases[0].arms.push_back(arm(arm_kind::fault, {not_provoked("no room")}, name));
  }
  const auto text = text_of(between(before, after), "gate");
  EXPECT_THAT(text, HasSubstr("  memory.leak/fault (a handle more): cublasCreate: "));
  EXPECT_THAT(text, HasSubstr("ABSENT, 2 arms: "));
  EXPECT_THAT(text, HasSubstr("  memory.leak: one, two (no room)\n"));
}

TEST(gate_table, can_have_names_only) {
  EXPECT_THAT(text_of(example_gate(), "gate", table_style::text, arm_extent::names),
              HasSubstr("(cufault baseline add).\n  memory.leak: fault\n"));
}

TEST(gate_table, is_json_with_a_schema_number) {
  const auto j = to_json(example_gate());
  EXPECT_EQ(j["schema"], 2);
  EXPECT_EQ(j["exit_code"], 1);
  EXPECT_EQ(j["stacks"][0]["values"][1], "13.10.0");
  ASSERT_EQ(j["arms"].size(), 3U);
  EXPECT_EQ(j["arms"][1]["verdict"], "CHANGED");
  EXPECT_EQ(j["arms"][1]["allowed"]["expires"], "2026-12-31");
  EXPECT_EQ(j["as_before"], 2);
  EXPECT_EQ(j["counts"].dump(), R"({"ABSENT":1,"CHANGED":1,"NEW":1})");
  EXPECT_EQ(j["unused_allowances"].size(), 1U);
  EXPECT_EQ(j["reasons"].dump(),
            R"([{"arms":["memory.leak/lost"],"exit_code":1,"why":"1 change that no allowance covers"}])");
}

// A step summary that is too long is dropped as a whole.
TEST(gate_table, stays_below_the_limit_in_markdown_and_counts_the_rest) {
  comparison all{.records = {{"baseline", "a"}, {"candidate", "b"}}, .executed = 1, .at_least = 1};
  for (int i = 0; i < 3000; ++i)
    all.arms.push_back({.case_name = "memory.leak",
                        .arm = "arm" + std::to_string(i),
                        .summary = "what it does",
                        .found = {verdict::changed, std::string(3000, i % 2 == 0 ? '<' : '\x1b')},
                        .seen = {"x", "y"}});
  const auto text = text_of(all, "gate", table_style::markdown);
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_GT(text.size(), markdown_limit / 2);
  EXPECT_THAT(text, HasSubstr(" more do not fit here.\n"));
  EXPECT_THAT(text, HasSubstr("3000 arms: 0 as before, 3000 CHANGED; 1 case"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<<"), std::string::npos);
}

}  // namespace
}  // namespace cufault
