// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is told of records and hosts: reports/answers/tests/merge.txt.
#include "reports/judge/merge.hpp"

#include "reports/judge/chance.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

std::vector<observation> trials_of(int internals, int no_memories) {
  std::vector<observation> trials(static_cast<std::size_t>(internals), trial({internal}));
  trials.insert(trials.end(), static_cast<std::size_t>(no_memories), trial({no_memory}));
  return trials;
}

TEST(merged_records, count_the_same_run_once) {
  merging all;
  EXPECT_TRUE(all.add("a", record_of_run("1", {trial({no_memory})})));
  EXPECT_FALSE(all.add("copy", record_of_run("1", {trial({no_memory})})));
  EXPECT_THROW(all.add("cut", record_of_run("1", {})), input_error) << "of the same run, with less in it";
  EXPECT_EQ(all.result().members.size(), 1U);
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
