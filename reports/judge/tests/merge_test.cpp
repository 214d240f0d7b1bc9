// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/merge.hpp"

#include "reports/judge/chance.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

record record_of_run(std::string started, std::vector<observation> trials, const std::string& races = {}) {
  record r;
  r.started = std::move(started);
  *r.stack = {{"keys", {{"cublas", "13.1.0"}}}};
  r.cases = {{.name = "memory.leak", .arms = {arm(arm_kind::fault, std::move(trials), "fault")}}};
  r.cases[0].arms[0].races = races;
  return r;
}

using named_records = std::vector<std::pair<std::string, record>>;

merged_records merged(const named_records& records) {
  merging all;
  for (const auto& [name, r] : records) all.add(name, r);
  return all.result();
}

using outlier_map = std::map<std::size_t, std::string>;

std::vector<std::size_t> outliers_of(const merged_records& m) {
  std::vector<std::size_t> all;
  for (const auto& [member, how] : m.arms.at(0).outliers) all.push_back(member);
  return all;
}

std::vector<observation> trials_of(int internals, int no_memories) {
  std::vector<observation> trials(static_cast<std::size_t>(internals), trial({internal}));
  trials.insert(trials.end(), static_cast<std::size_t>(no_memories), trial({no_memory}));
  return trials;
}

TEST(merged_records, count_the_trials_of_all_where_those_of_one_differed) {
  const auto m = merged({{"a", record_of_run("1", trials_of(1, 0))},
                         {"b", record_of_run("2", trials_of(3, 1), trials_differed)},
                         {"c", record_of_run("3", trials_of(1, 0))}});
  ASSERT_EQ(m.arms.size(), 1U);
  EXPECT_TRUE(m.arms[0].races);
  EXPECT_EQ(m.arms[0].trials, 6U);
  ASSERT_EQ(m.arms[0].groups.size(), 2U);
  EXPECT_EQ(m.arms[0].groups[0].trials, 5U);
  EXPECT_EQ(m.arms[0].groups[0].members, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(m.arms[0].groups[1].trials, 1U);
  EXPECT_TRUE(m.arms[0].outliers.empty());
}

TEST(merged_records, name_who_differs_from_the_majority) {
  const auto m = merged({{"c", record_of_run("1", {trial({no_memory})})},
                         {"a", record_of_run("2", {trial({internal})})},
                         {"b", record_of_run("3", {trial({no_memory})})}});
  ASSERT_EQ(m.arms.size(), 1U);
  EXPECT_EQ(m.members[0].name, "a");
  EXPECT_EQ(m.members[0].outlying, 1U);
  EXPECT_EQ(m.arms[0].outliers, (outlier_map{{0, "CHANGED: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR"}}));
  EXPECT_EQ(m.arms[0].groups.at(0).members, (std::vector<std::size_t>{1, 2}));
  EXPECT_FALSE(m.arms[0].no_majority);
  EXPECT_EQ(exit_code(m), 1);
}

TEST(merged_records, agree_where_all_saw_the_same) {
  const auto m = merged(
      {{"a", record_of_run("1", {trial({no_memory})})}, {"b", record_of_run("2", {trial({no_memory})})}});
  EXPECT_EQ(m.arms.at(0).groups.size(), 1U);
  EXPECT_EQ(exit_code(m), 0);
  EXPECT_EQ(exit_code(merged({})), 2);
}

TEST(merged_records, have_no_majority_where_two_differ) {
  const auto m = merged(
      {{"a", record_of_run("1", {trial({no_memory})})}, {"b", record_of_run("2", {trial({internal})})}});
  EXPECT_TRUE(m.arms.at(0).no_majority);
  EXPECT_TRUE(m.arms.at(0).outliers.empty());
  EXPECT_EQ(exit_code(m), 1);
}

TEST(merged_records, take_an_edge_or_a_measurement_within_its_band_for_the_same) {
  const auto edge = [](std::int64_t level, double bytes) {
    auto trials = std::vector{at_level(0, trial({no_memory})), refined_at(level, trial({no_memory})),
                              refined_at(level + 1, trial({success})), at_level(128, trial({success}))};
    trials[0].measurements = {{"device memory per handle", bytes, "bytes"}};
    return trials;
  };
  EXPECT_EQ(exit_code(merged({{"a", record_of_run("1", edge(70, 268435456))},
                              {"b", record_of_run("2", edge(72, 268435457))}})),
            0);
  EXPECT_EQ(exit_code(merged({{"a", record_of_run("1", edge(70, 268435456))},
                              {"b", record_of_run("2", edge(126, 268435456))}})),
            1);
  EXPECT_EQ(exit_code(merged({{"a", record_of_run("1", edge(70, 268435456))},
                              {"b", record_of_run("2", edge(70, 67108864))}})),
            1);
}

TEST(merged_records, pool_rates_and_name_whose_rate_is_another) {
  named_records records;
  for (int i = 0; i < 5; ++i)
    records.emplace_back(std::string(1, static_cast<char>('a' + i)),
                         record_of_run(std::to_string(i), trials_of(10, 10), "chance"));
  auto m = merged(records);
  EXPECT_EQ(exit_code(m), 0);
  EXPECT_EQ(m.arms.at(0).trials, 100U);
  EXPECT_EQ(m.arms.at(0).groups.at(0).trials, 50U);
  records.emplace_back("f", record_of_run("9", trials_of(20, 0), "chance"));
  m = merged(records);
  ASSERT_EQ(outliers_of(m), std::vector<std::size_t>{5});
  EXPECT_EQ(m.arms.at(0).outliers.at(5),
            "CHANGED: rate moved: cublasCreate: ALLOC_FAILED; context usable: 50 of 100 → 0 of 20 trials");
  records.emplace_back("g", record_of_run("10", {crash({})}, "chance"));
  EXPECT_EQ(outliers_of(merged(records)), (std::vector<std::size_t>{5, 6}));
}

TEST(merged_records, compare_no_rates_that_depend_on_how_busy_a_host_is) {
  named_records records;
  for (int i = 0; i < 3; ++i) {
    records.emplace_back(std::to_string(i),
                         record_of_run(std::to_string(i), trials_of(10 * i, 20 - 10 * i), "chance"));
    records.back().second.cases[0].arms[0].rate_depends_on_load = true;
  }
  records.erase(records.begin());
  EXPECT_EQ(exit_code(merged(records)), 0);
}

TEST(merged_records, count_the_same_run_once) {
  merging all;
  EXPECT_TRUE(all.add("a", record_of_run("1", {trial({no_memory})})));
  EXPECT_FALSE(all.add("copy", record_of_run("1", {trial({no_memory})})));
  EXPECT_THROW(all.add("cut", record_of_run("1", {})), input_error) << "of the same run, with less in it";
  EXPECT_EQ(all.result().members.size(), 1U);
}

TEST(merged_records, leave_out_cases_whose_control_failed) {
  auto broken = record_of_run("1", {trial({no_memory})});
  broken.cases[0].arms.push_back(arm(arm_kind::control, {trial({internal})}, "control"));
  EXPECT_TRUE(merged({{"a", broken}}).arms.empty());
}

TEST(merged_records, tell_how_the_stacks_differ) {
  auto other = record_of_run("2", {trial({no_memory})});
  (*other.stack)["keys"]["driver"] = "590";
  const auto m = merged({{"a", record_of_run("1", {trial({no_memory})})}, {"b", other}});
  ASSERT_EQ(m.stacks.size(), 1U);
  EXPECT_EQ(m.stacks.at("driver").at("590"), std::vector<std::size_t>{1});
  EXPECT_EQ(m.stacks.at("driver").at("unknown"), std::vector<std::size_t>{0});
}

TEST(merged_records, do_not_depend_on_the_order_of_records) {
  named_records records{{"a", record_of_run("1", {trial({no_memory})})},
                        {"b", record_of_run("2", {trial({internal})})},
                        {"c", record_of_run("3", {trial({no_memory})})},
                        {"d", record_of_run("4", {crash({})})},
                        {"e", record_of_run("5", trials_of(3, 1), "chance")}};
  records.back().second.cases[0].name = "memory.race";
  const auto text_of = [](const merged_records& m) {
    std::string text;
    for (const auto& a : m.arms) {
      text += a.case_name;
      for (const auto& g : a.groups) {
        text += " | " + g.seen;
        for (const auto member : g.members) text += " " + m.members[member].name;
      }
      for (const auto& [member, how] : a.outliers) text += "; outlier " + m.members[member].name;
    }
    return text;
  };
  const auto straight = text_of(merged(records));
  EXPECT_NE(straight, "");
  do {
    EXPECT_EQ(text_of(merged(records)), straight);
  } while (std::next_permutation(records.begin(), records.end(),
                                 [](const auto& a, const auto& b) { return a.first < b.first; }));
}

// Values of the two-sided test by the sum of hypergeometric probabilities, computed by hand.
TEST(chance_of_difference, is_fishers_exact_test) {
  EXPECT_NEAR(chance_of_difference(5, 5, 0, 5), 2.0 / 252, 1e-12);
  EXPECT_NEAR(chance_of_difference(3, 4, 1, 4), (1 + 16 + 16 + 1) / 70.0, 1e-12);
  EXPECT_NEAR(chance_of_difference(2, 4, 2, 4), 1, 1e-12);
  EXPECT_NEAR(chance_of_difference(0, 5, 0, 9), 1, 1e-12);
}

}  // namespace
}  // namespace cufault
