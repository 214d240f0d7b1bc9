// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/history.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

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
            "Stacks, in the order of architecture, driver, cuBLAS and the rest:\n"
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
            "\n### Stacks, in the order of architecture, driver, cuBLAS and the rest\n\n"
            "|  | runs | stack |\n"
            "| --- | --- | --- |\n"
            "| a | 2 | cuBLAS 12.0.1, H200 |\n"
            "| b | 4 | cuBLAS 13.1.0, H200 |\n"
            "\n\n### Arms\n\n"
            "| arm | stack | runs | flakes | what was seen |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| a.b/changed | a | 2 | 0 of 2 | result 2 |\n"
            "|  | b (not as a) | 4 | 1 of 4 | 3 of 4 runs: result 1 \\| 1 of 4 runs: result 2 |\n"
            "| a.b/race | b | 4 | races | 9 of 20 trials: result 3 \\| 11 of 20 trials: result 4 |\n"
            "| a.b/same | a | 2 | 0 of 2 | result 5 |\n"
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

history_view view_of(std::vector<std::pair<const char*, std::string>> stacks, std::vector<int> results) {
  history_view v;
  history_arm arm{.name = "memory.leak/c"};
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    v.stacks.push_back(
        {.label = stacks[i].second,
         .gpu = stacks[i].first,
         .keys = {{"cublas", stacks[i].second},
                  {"compute_capability", stacks[i].first == std::string("A100") ? "8.0" : "9.0"}}});
    arm.entries.push_back({.stack = i, .runs = 1, .results = {{.seen = "x", .runs = 1, .id = results[i]}}});
  }
  v.arms = {std::move(arm)};
  arrange(v);
  return v;
}

TEST(history_order, compares_gpus_and_versions_with_the_nearest_stack) {
  // H100 and H200 have one architecture: with one cuBLAS they are nearest to each other.
  const auto equal = view_of({{"H200", "13.1.0"}, {"H100", "13.1.0"}}, {1, 1});
  ASSERT_EQ(equal.arms.size(), 1U);
  EXPECT_EQ(equal.arms[0].entries.at(1).nearest, 0U);
  EXPECT_FALSE(equal.arms[0].entries[1].changed);
  EXPECT_EQ(equal.arms[0].since, 0U);
  const auto other = view_of({{"H200", "13.1.0"}, {"H100", "13.1.0"}}, {1, 2});
  EXPECT_TRUE(other.arms[0].entries.at(1).changed);
  EXPECT_EQ(other.arms[0].since, 1U);
  // In the order A100 13.1, A100 13.2, H200 13.1: the last is compared with the first, which has its version.
  const auto far = view_of({{"A100", "13.1.0"}, {"A100", "13.2.0"}, {"H200", "13.1.0"}}, {1, 2, 1});
  EXPECT_EQ(far.arms[0].entries.at(2).nearest, 0U);
  EXPECT_FALSE(far.arms[0].entries[2].changed);
  EXPECT_TRUE(far.arms[0].entries[1].changed);
}

history_view races_with(const std::vector<std::pair<int, int>>& trials_by_run) {
  history_view v;
  v.stacks = {{.label = "H200"}};
  history_entry e{.stack = 0, .races = true, .runs = trials_by_run.size()};
  history_result one{.seen = "one", .id = 1}, other{.seen = "other", .id = 2};
  for (std::size_t run = 0; run < trials_by_run.size(); ++run) {
    const std::string started = "2026-11-" + std::to_string(run + 10);
    for (auto [result, trials] :
         {std::pair{&one, trials_by_run[run].first}, {&other, trials_by_run[run].second}}) {
      if (trials == 0) continue;
      result->trials += static_cast<std::size_t>(trials);
      ++result->runs;
      e.samples.push_back({started, result->id, static_cast<std::size_t>(trials)});
    }
  }
  e.results = {one, other};
  v.arms = {{.name = "memory.leak/race", .entries = {e}}};
  arrange(v);
  return v;
}

TEST(history_proposals, take_an_arm_out_of_quarantine_that_was_steady_in_twenty_runs) {
  std::vector<std::pair<int, int>> runs{{1, 1}};
  runs.insert(runs.end(), 20, {2, 0});
  const auto v = races_with(runs);
  ASSERT_EQ(v.proposals.size(), 1U);
  EXPECT_TRUE(v.proposals[0].steady);
  EXPECT_EQ(v.proposals[0].runs, 20U);
  EXPECT_EQ(v.proposals[0].now, 40U);
  EXPECT_EQ(v.proposals[0].first, "2026-11-11");
  std::ostringstream out;
  print_history(out, v, table_style::text, history_extent::overview);
  EXPECT_NE(
      out.str().find(
          "memory.leak/race on a, 20 runs from 2026-11-11 to 2026-11-30: all 40 trials; 1 of 2 before: one"),
      std::string::npos)
      << out.str();
  EXPECT_EQ(to_json(v)["proposals"][0]["trials"]["now"].dump(), "[40,40]");
  runs.back() = {1, 1};
  EXPECT_TRUE(races_with(runs).proposals.empty());
  EXPECT_TRUE(races_with(std::vector<std::pair<int, int>>(19, {2, 0})).proposals.empty());
}

TEST(history_proposals, change_a_rate_that_moved) {
  std::vector<std::pair<int, int>> runs(20, {1, 9});
  runs.insert(runs.end(), 20, {9, 1});
  const auto v = races_with(runs);
  ASSERT_EQ(v.proposals.size(), 1U);
  EXPECT_FALSE(v.proposals[0].steady);
  EXPECT_EQ(v.proposals[0].now + v.proposals[0].before, 200U);
  EXPECT_TRUE(races_with(std::vector<std::pair<int, int>>(40, {5, 5})).proposals.empty());
}

}  // namespace
}  // namespace cufault
