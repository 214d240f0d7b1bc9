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

struct differences {
  int count;
  std::string text;
};

differences between(const record& before, const record& after, table_style style = table_style::text) {
  std::ostringstream out;
  const std::array both{before, after};
  const auto count = print_differences(out, both, style);
  return {count, out.str()};
}

TEST(difference_table, of_equal_records_is_empty) {
  auto after = example_record();
  after.stack = {{"keys", {{"cublas", "12.9.1"}}}};
  after.cases[0].arms[1].trials[0].milliseconds = 7;
  const auto d = between(example_record(), after);
  EXPECT_EQ(d.count, 0);
  EXPECT_EQ(d.text, "0 arms different or missing, 3 equal\n");
}

TEST(difference_table, shows_both_sides_of_each_difference) {
  auto after = example_record();
  after.started = "2026-11-22T07:27:40Z";
  after.cases[0].arms[1].trials = {trial({internal})};
  const auto d = between(example_record(), after);
  EXPECT_EQ(d.count, 1);
  EXPECT_TRUE(contains(
      d.text,
      "memory.leak/fault\n"
      "  cuBLAS 13.1.0 (2026-11-21T07:27:40Z): cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable\n"
      "  cuBLAS 13.1.0 (2026-11-22T07:27:40Z): cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; context usable\n"
      "\n"
      "1 arm different or missing, 2 equal\n"))
      << d.text;
}

TEST(difference_table, tells_first_what_differs_in_the_files_of_the_libraries) {
  auto before = example_record(), after = example_record();
  before.stack = {{"keys", {{"cublas", "13.1.0"}}}, {"files", {{"cublas", {{"runpath", "$ORIGIN"}}}}}};
  after.stack = {{"keys", {{"cublas", "13.7.0"}}}, {"files", {{"cublas", {{"rpath", "$ORIGIN"}}}}}};
  const auto d = between(before, after);
  EXPECT_EQ(d.count, 0) << "only arms count";
  EXPECT_TRUE(
      d.text.starts_with("cublas: search path\n"
                         "  cuBLAS 13.1.0: DT_RUNPATH $ORIGIN\n"
                         "  cuBLAS 13.7.0: DT_RPATH $ORIGIN\n"
                         "\n"))
      << d.text;
  EXPECT_TRUE(contains(between(before, after, table_style::markdown).text,
                       "| cublas: search path | cuBLAS 13.7.0 | DT_RUNPATH $ORIGIN | DT_RPATH $ORIGIN |"));
}

TEST(difference_table, shows_arms_that_only_one_record_has) {
  auto after = example_record();
  after.cases[0].arms.pop_back();
  after.cases.push_back(
      {.name = "memory.new",
       .arms = {judged(arm_kind::fault, "fault", verdict::unrecorded, {trial({success})})}});
  const auto d = between(example_record(), after, table_style::markdown);
  EXPECT_EQ(d.count, 2);
  EXPECT_TRUE(
      contains(d.text,
               "| memory.leak | trim | cublasDestroy: never returned; crashed: SIGSEGV in cublasDestroy; "
               "context none | (no such arm) |\n"))
      << d.text;
  EXPECT_TRUE(contains(
      d.text,
      "| memory.new | fault | (no such arm) | cublasCreate: CUBLAS_STATUS_SUCCESS; context usable |\n"))
      << d.text;
}

TEST(difference_table, counts_an_arm_that_one_record_could_not_observe_as_different) {
  auto after = example_record();
  after.cases[0].arms[1].trials = {not_provoked("no GPU")};
  EXPECT_EQ(between(example_record(), after).count, 1);
  const auto neither = between(after, after);
  EXPECT_EQ(neither.count, 0);
  EXPECT_TRUE(contains(neither.text, "0 arms different or missing, 2 equal, 1 observed in none\n"))
      << neither.text;
}

TEST(difference_table, has_a_column_for_each_record) {
  std::array three{example_record(), example_record(), example_record()};
  three[1].stack = {{"keys", {{"cublas", "12.0.1"}}}};
  three[2].stack = {{"keys", {{"cublas", "13.4.0"}}}};
  three[2].cases[0].arms[1].trials = {trial({internal})};
  std::ostringstream out;
  EXPECT_EQ(print_differences(out, three, table_style::markdown), 1);
  EXPECT_TRUE(contains(out.str(), "| case | arm | cuBLAS 13.1.0 | cuBLAS 12.0.1 | cuBLAS 13.4.0 |\n"))
      << out.str();
}

TEST(difference_table, by_stack_has_the_last_observed_arm_of_each_and_counts_what_not_all_have) {
  auto earlier = example_record(), spoilt = example_record(), other = example_record(),
       rest = example_record();
  earlier.started = "2026-11-20T00:00:00Z";
  earlier.cases[0].arms[1].trials = {trial({success})};
  spoilt.cases[0].arms[1].trials = {not_provoked("no GPU")};
  spoilt.cases[0].arms.pop_back();
  rest.cases[0].name = "memory.rest";
  other.stack = {{"keys", {{"cublas", "12.0.1"}}}};
  other.cases[0].arms[1].trials = {trial({internal})};
  const auto stacks = merged_by_stack({example_record(), earlier, spoilt, other, rest});
  ASSERT_EQ(stacks.size(), 2U);
  std::ostringstream out;
  EXPECT_EQ(print_differences(out, stacks, table_style::markdown, missing_arms::counted), 1);
  EXPECT_TRUE(contains(out.str(), "| case | arm | cuBLAS 13.1.0 | cuBLAS 12.0.1 |\n")) << out.str();
  EXPECT_TRUE(contains(out.str(),
                       "CUBLAS_STATUS_ALLOC_FAILED; context usable | cublasCreate: "
                       "CUBLAS_STATUS_INTERNAL_ERROR"))
      << out.str();
  EXPECT_TRUE(contains(out.str(), "1 arm different, 2 equal, 3 not observed in all\n")) << out.str();
}

TEST(difference_table, holds_a_race_for_the_same_where_a_signature_is_shared) {
  auto before = example_record(), after = example_record();
  for (auto* r : {&before, &after}) r->cases[0].arms[1].races = "chance";
  before.cases[0].arms[1].trials = {trial({no_memory}), trial({internal}), trial({no_memory})};
  after.cases[0].arms[1].trials = {trial({internal}), trial({internal}), trial({success})};
  EXPECT_EQ(between(before, after).count, 0);
  after.cases[0].arms[1].trials = {trial({success})};
  const auto d = between(before, after);
  EXPECT_EQ(d.count, 1);
  EXPECT_TRUE(contains(d.text,
                       "2 of 3: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | 1 of 3: "
                       "cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR"))
      << d.text;
}

TEST(difference_table, takes_an_edge_within_its_band_for_the_same) {
  const auto edge = [](std::int64_t level) {
    auto r = example_record();
    r.cases[0].arms[1].trials = {at_level(0, trial({no_memory})), refined_at(level, trial({no_memory})),
                                 refined_at(level + 1, trial({success})), at_level(128, trial({success}))};
    return r;
  };
  EXPECT_EQ(between(edge(70), edge(73)).count, 0);
  const auto moved = between(edge(70), edge(126));
  EXPECT_EQ(moved.count, 1);
  EXPECT_TRUE(contains(moved.text, "from 0 to 70: ")) << moved.text;
  EXPECT_TRUE(contains(moved.text, "from 0 to 126: ")) << moved.text;
}

gate_report example_gate() {
  auto before = example_record(), after = example_record();
  after.stack = {{"keys", {{"cublas", "13.10.0"}}}};
  after.cases[0].arms[1].trials = {trial({internal})};
  after.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, "another"));
  before.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, "lost"));
  return compare(before, after,
                 {.allowances = {{"memory.leak/fault", change::changed, "known", "2026-12-31", "a.json:3"},
                                 {"*/none", change::gone, "of old", "2026-12-31", "a.json:4"},
                                 {"*/lost", change::absent, "last year", "2025-12-31", "a.json:5"}},
                  .today = "2026-11-22"});
}

std::string gate_text(const gate_report& report, table_style style) {
  std::ostringstream out;
  print_gate(out, report, style);
  return out.str();
}

TEST(gate_table, tells_stacks_first_then_arms_then_allowances) {
  EXPECT_EQ(
      gate_text(example_gate(), table_style::text),
      "baseline: cuBLAS 13.1.0: 4 arms observed\n"
      "candidate: cuBLAS 13.10.0: 4 arms observed\n"
      "\n"
      "What differs between the stacks:\n"
      "of the stack  baseline  candidate\n"
      "cublas        13.1.0    13.10.0\n"
      "Below, expected is what the baseline showed, and seen what the candidate showed.\n"
      "\n"
      "changed, 1 arm: it behaves in another way.\n"
      "  memory.leak/fault: expected cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; seen cublasCreate: "
      "CUBLAS_STATUS_INTERNAL_ERROR [allowed until 2026-12-31: known]\n"
      "\n"
      "absent, 1 arm: observed in the baseline, and not in the candidate: run the same cases and tiers of "
      "both.\n"
      "  memory.leak: lost\n"
      "\n"
      "new, 1 arm: observed in the candidate alone: there is nothing to compare it with.\n"
      "  memory.leak: another\n"
      "\n"
      "allowances that have expired, and cover nothing.\n"
      "  a.json:5: absent of */lost (until 2025-12-31: last year)\n"
      "\n"
      "allowances that nothing needs: remove them.\n"
      "  a.json:4: gone of */none (until 2026-12-31: of old)\n"
      "\n"
      "5 arms: 2 unchanged, 1 changed, 1 absent, 1 new; 1 case of the candidate executed, the floor is "
      "1\n"
      "\n"
      "gate: FAILED: 1 change that no allowance covers\n");
}

TEST(gate_table, is_a_page_in_markdown) {
  const auto text = gate_text(example_gate(), table_style::markdown);
  EXPECT_TRUE(text.starts_with(
      "## cufault gate: FAILED: 1 change that no allowance covers\n\n"
      "- baseline: cuBLAS 13.1.0: 4 arms observed\n"
      "- candidate: cuBLAS 13.10.0: 4 arms observed\n"
      "\n### What differs between the stacks\n\n"
      "| of the stack | baseline | candidate |\n"
      "| --- | --- | --- |\n"
      "| cublas | 13.1.0 | 13.10.0 |\n"
      "\n- Below, expected is what the baseline showed, and seen what the candidate showed.\n"
      "\n### changed, 1 arm: "))
      << text;
}

TEST(gate_table, says_what_an_arm_does_and_names_arms_that_one_record_lacks_by_case) {
  auto before = example_record(), after = example_record();
  for (auto* r : {&before, &after}) r->cases[0].arms[1].summary = "a handle more";
  after.cases[0].arms[1].trials = {trial({internal})};
  for (const char* name : {"one", "two"})
    before.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, name));
  before.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, "kept"));
  after.cases[0].arms.push_back(arm(arm_kind::fault, {not_provoked("no room")}, "kept"));
  before.cases.push_back({.name = "memory.unrun", .arms = before.cases[0].arms});
  const auto text = gate_text(compare(before, after, {.today = "2026-11-22"}), table_style::text);
  EXPECT_THAT(text, HasSubstr("  memory.leak/fault (a handle more): expected cublasCreate: "));
  EXPECT_THAT(text, HasSubstr("absent, 9 arms: "));
  EXPECT_THAT(text, HasSubstr("  memory.leak: one, two\n"));
  EXPECT_THAT(text, HasSubstr("  memory.leak: kept (no room)\n"));
  EXPECT_THAT(text, HasSubstr("  memory.unrun: all 6 arms\n"));
  EXPECT_THAT(gate_text(compare(before, before, {.today = "2026-11-22"}), table_style::text),
              testing::Not(HasSubstr("Below, expected")));
}

TEST(gate_table, can_have_names_only) {
  std::ostringstream out;
  print_gate(out, example_gate(), table_style::text, gate_extent::names);
  EXPECT_THAT(out.str(), HasSubstr("changed, 1 arm: it behaves in another way.\n  memory.leak: fault\n"));
}

TEST(gate_table, is_json_with_a_schema_number) {
  const auto j = to_json(example_gate());
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["exit_code"], 1);
  EXPECT_EQ(j["stacks"][0]["candidate"], "13.10.0");
  ASSERT_EQ(j["arms"].size(), 3U);
  EXPECT_EQ(j["arms"][1]["change"], "changed");
  EXPECT_EQ(j["arms"][1]["allowed"]["expires"], "2026-12-31");
  EXPECT_EQ(j["counts"]["unchanged"], 2);
  EXPECT_EQ(j["unused_allowances"].size(), 1U);
  EXPECT_EQ(j["reasons"].dump(),
            R"([{"arms":["memory.leak/lost"],"exit_code":1,"why":"1 change that no allowance covers"}])");
}

// A step summary that is too long is dropped as a whole.
TEST(gate_table, stays_below_the_limit_in_markdown_and_counts_the_rest) {
  gate_report report{.baseline = "a", .candidate = "b", .at_least = 1};
  for (int i = 0; i < 3000; ++i)
    report.arms.push_back({"memory.leak",
                           "arm" + std::to_string(i),
                           {change::changed, std::string(3000, i % 2 == 0 ? '<' : '\x1b')},
                           "what it does",
                           "x",
                           "y"});
  report.executed = 1;
  const auto text = gate_text(report, table_style::markdown);
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_GT(text.size(), markdown_limit / 2);
  EXPECT_THAT(text, HasSubstr(" more do not fit here.\n"));
  EXPECT_THAT(text, HasSubstr("3000 arms: 3000 changed; 1 case"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<<"), std::string::npos);
}

}  // namespace
}  // namespace cufault
