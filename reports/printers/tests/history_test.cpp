// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/history.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <utility>

namespace cufault {
namespace {

history_view example_view() {
  history_view v;
  v.runs = 6;
  v.first = "2026-11-01";
  v.last = "2026-11-06";
  v.stacks = {{.label = "cuBLAS 13.1.0, H200", .gpu = "H200", .keys = {{"cublas", "13.1.0"}}, .runs = 4},
              {.label = "cuBLAS 12.0.1, H200", .gpu = "H200", .keys = {{"cublas", "12.0.1"}}, .runs = 2}};
  const auto result = [](int id, std::size_t runs, std::size_t trials) {
    return history_result{.seen = "result " + std::to_string(id),
                          .runs = runs,
                          .trials = trials,
                          .first = "2026-11-01",
                          .last = "2026-11-02",
                          .id = id};
  };
  v.arms = {
      {.name = "a.b/changed",
       .entries = {{.stack = 0, .runs = 4, .results = {result(2, 1, 1), result(1, 3, 3)}},
                   {.stack = 1, .runs = 2, .results = {result(2, 2, 2)}}}},
      {.name = "a.b/race",
       .entries = {{.stack = 0, .races = true, .runs = 4, .results = {result(3, 4, 9), result(4, 2, 11)}}}},
      {.name = "a.b/same",
       .entries = {{.stack = 0, .runs = 4, .results = {result(5, 4, 4)}},
                   {.stack = 1, .runs = 2, .results = {result(5, 2, 2)}}}}};
  arrange(v);
  return v;
}

std::string printed_history(table_style style, history_extent extent) {
  std::ostringstream out;
  print_history(out, example_view(), style, extent);
  return out.str();
}

TEST(history_table, shows_what_changed_or_flakes_and_counts_the_rest) {
  EXPECT_EQ(printed_history(table_style::text, history_extent::overview),
            "6 runs on 2 stacks, from 2026-11-01 to 2026-11-06\n"
            "\n"
            "Stacks, in the order of GPU, driver, cuBLAS and the rest:\n"
            "   runs  stack\n"
            "a  2     cuBLAS 12.0.1, H200\n"
            "b  4     cuBLAS 13.1.0, H200\n"
            "\n"
            "Arms that changed between stacks, or flake:\n"
            "arm          since  flakes  what it is\n"
            "a.b/changed  b      1 of 6  3 of 4 runs: result 1 | 1 of 4 runs: result 2\n"
            "\n"
            "3 arms: 1 changed or flake, 1 the same on all stacks that observed them, 1 observed on one "
            "stack only\n");
}

TEST(history_table, has_a_line_for_each_stack_in_detail) {
  EXPECT_EQ(printed_history(table_style::markdown, history_extent::details),
            "## cufault history\n\n"
            "- 6 runs on 2 stacks, from 2026-11-01 to 2026-11-06\n"
            "\n### Stacks, in the order of GPU, driver, cuBLAS and the rest\n\n"
            "|  | runs | stack |\n"
            "| --- | --- | --- |\n"
            "| a | 2 | cuBLAS 12.0.1, H200 |\n"
            "| b | 4 | cuBLAS 13.1.0, H200 |\n"
            "\n\n### Arms\n\n"
            "| arm | stack | runs | flakes | what was seen |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| a.b/changed | a | 2 | 0 of 2 | result 2 |\n"
            "|  | b (since) | 4 | 1 of 4 | 3 of 4 runs: result 1 \\| 1 of 4 runs: result 2 |\n"
            "| a.b/race | b (since) | 4 | races | 9 of 20 trials: result 3 \\| 11 of 20 trials: result 4 |\n"
            "| a.b/same | a (since) | 2 | 0 of 2 | result 5 |\n"
            "|  | b | 4 | 0 of 4 | result 5 |\n"
            "\n\n3 arms\n");
}

TEST(history_table, is_json_with_all_arms) {
  const auto j = to_json(example_view());
  EXPECT_EQ(j["schema"], 1);
  ASSERT_EQ(j["arms"].size(), 3U);
  EXPECT_EQ(j["arms"][0]["since"], 1);
  EXPECT_EQ(j["arms"][0]["stacks"][1]["flakes"], 1);
  EXPECT_EQ(j["arms"][0]["stacks"][1]["results"][0]["seen"], "result 1");
}

TEST(history_order, is_that_of_versions) {
  history_view v;
  for (const auto* version : {"13.10.0", "9.2", "13.1.0", "13.1.0.3", "010.1"})
    v.stacks.push_back({.label = version, .keys = {{"cublas", version}}});
  arrange(v);
  std::string order;
  for (const auto& s : v.stacks) order += s.label + " ";
  EXPECT_EQ(order, "9.2 010.1 13.1.0 13.1.0.3 13.10.0 ");
}

// One GPU says nothing of another.
TEST(history_order, has_an_arm_for_each_gpu) {
  history_view v;
  v.stacks = {{.label = "H200", .gpu = "H200"}, {.label = "H100", .gpu = "H100"}};
  v.arms = {{.name = "a.b/c",
             .entries = {{.stack = 0, .runs = 1, .results = {{.seen = "x", .runs = 1, .id = 1}}},
                         {.stack = 1, .runs = 1, .results = {{.seen = "y", .runs = 1, .id = 2}}}}}};
  arrange(v);
  ASSERT_EQ(v.arms.size(), 2U);
  EXPECT_EQ(v.arms[0].since, 0U);
  EXPECT_EQ(v.arms[1].since, 0U);
}

}  // namespace
}  // namespace cufault
