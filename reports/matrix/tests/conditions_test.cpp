// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/matrix/conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::array<std::string_view, 5> preferred{"state", "level", "kernels", "api", "operation"};

/// Every operation in both handle states at three levels; what each comes to is what `outcome` says.
template <class Outcome>
std::vector<example> cells(Outcome outcome, int operations = 6) {
  std::vector<example> all;
  for (int o = 0; o < operations; ++o)
    for (const char* state : {"cold", "warm"})
      for (const std::int64_t level : {0, 16, 64}) {
        const std::string name = "op" + std::to_string(o);
        example e{.name = name + "." + state + "." + std::to_string(level)};
        e.properties = {{"operation", name},
                        {"api", std::string(o % 2 == 0 ? "cublasSgemm" : "cublasDgemm")},
                        {"state", std::string(state)},
                        {"level", level},
                        {"kernels", std::int64_t{o < 2 ? 2 : 1}},
                        {"workspace_used", std::string(o < 2 ? "yes" : "no")}};
        e.outcome = outcome(o, std::string(state), level);
        all.push_back(std::move(e));
      }
  return all;
}

std::vector<std::string> lines_of(const std::vector<example>& examples) {
  return describe(rules_for(examples, {.preferred = preferred}), "cell");
}

TEST(conditions, of_one_outcome_are_none) {
  EXPECT_THAT(lines_of(cells([](int, auto, auto) { return "SUCCESS"; })),
              ElementsAre("SUCCESS everywhere: 36 cells"));
  EXPECT_THAT(rules_for({}), IsEmpty());
}

TEST(conditions, are_one_where_one_is_enough) {
  EXPECT_THAT(lines_of(cells([](int, const std::string& s, auto) { return s == "cold" ? "A" : "B"; })),
              ElementsAre("A where cold: 18 cells", "else B: 18 cells"));
  EXPECT_THAT(lines_of(cells([](int, auto, std::int64_t level) { return level < 64 ? "A" : "B"; })),
              ElementsAre("B where level 64: 12 cells", "else A: 24 cells"));
  EXPECT_THAT(lines_of(cells([](int o, auto, auto) { return o < 2 ? "A" : "B"; })),
              ElementsAre("A where kernels 2: 12 cells", "else B: 24 cells"))
      << "not by naming two operations";
}

TEST(conditions, are_two_where_neither_tells_alone) {
  EXPECT_THAT(
      lines_of(cells([](int o, const std::string& s, auto) { return o < 2 && s == "cold" ? "A" : "B"; })),
      ElementsAre("A where cold and kernels 2: 6 cells", "else B: 30 cells"));
}

TEST(conditions, are_three_at_most) {
  const auto rules = rules_for(cells([](int o, const std::string& s, std::int64_t level) {
                                 return o < 2 && s == "cold" && level < 64 ? "A" : "B";
                               }),
                               {.preferred = preferred});
  ASSERT_THAT(rules, SizeIs(2));
  EXPECT_EQ(describe(rules[0].where), "cold and level at most 16 and kernels 2");
  EXPECT_THAT(rules[0].covers, SizeIs(4));
}

TEST(conditions, count_what_contradicts) {
  const auto rules = rules_for(cells([](int o, const std::string& s, std::int64_t level) {
                                 return s == "cold" ? o == 3 && level == 16 ? "B" : "A" : "B";
                               }),
                               {.preferred = preferred});
  EXPECT_THAT(describe(rules, "cell"),
              ElementsAre("B where warm: 18 cells", "else A: 18 cells, 1 contradicts: op3.cold.16 (B)"));
}

TEST(conditions, name_a_cell_that_is_alone_with_its_outcome) {
  const auto all = cells([](int o, const std::string& s, std::int64_t level) {
    return o == 3 && s == "cold" && level == 16 ? "SIGSEGV" : s == "cold" ? "A" : "B";
  });
  const auto rules = rules_for(all, {.preferred = preferred});
  EXPECT_THAT(describe(rules, "cell"),
              ElementsAre("A where cold: 17 cells", "else B: 18 cells", "SIGSEGV of op3.cold.16 alone"));
  const auto lonely = std::ranges::find(all, "SIGSEGV", &example::outcome);
  EXPECT_EQ(rule_of(rules, *lonely)->alone, "op3.cold.16");
  EXPECT_THAT(lines_of(cells([](int, auto s, auto) { return s; }, 0)), IsEmpty());
}

TEST(conditions, are_in_an_order_in_which_few_contradict) {
  // The rule of the level explains the most by itself, and holds for cells of the other one.
  const auto rules = rules_for(cells(
                                   [](int o, const std::string& s, std::int64_t level) {
                                     return o < 2 && s == "cold" ? "A" : level < 64 ? "B" : "C";
                                   },
                                   8),
                               {.preferred = preferred});
  for (const rule& r : rules) EXPECT_THAT(r.contradicts, IsEmpty()) << r.outcome;
  EXPECT_THAT(rules, SizeIs(3));
}

TEST(conditions, take_a_missing_property_for_no_match) {
  auto all = cells([](int o, auto, auto) { return o == 0 ? "A" : "B"; });
  for (example& e : all)
    if (e.outcome == "A") e.properties.erase("kernels");
  for (const rule& r : rules_for(all, {.preferred = preferred})) EXPECT_THAT(r.contradicts, IsEmpty());
  EXPECT_FALSE((condition{"kernels", relation::at_most, std::int64_t{9}}.holds(all.front())));
  EXPECT_FALSE((condition{"state", relation::at_most, std::int64_t{9}}.holds(all.front())));
}

TEST(conditions, are_found_for_single_examples_where_that_is_asked_for) {
  std::vector<example> all;
  for (const char* code : {"OUT_OF_MEMORY", "UNKNOWN", "INVALID_VALUE"})
    all.push_back({.name = code,
                   .properties = {{"code", std::string(code)}},
                   .outcome = std::string(code) == "OUT_OF_MEMORY" ? "ALLOC_FAILED" : "INTERNAL_ERROR"});
  EXPECT_EQ(in_one_line(rules_for(all, {.least_gain = 1})),
            "ALLOC_FAILED where code OUT_OF_MEMORY; else INTERNAL_ERROR");
  EXPECT_EQ(in_one_line(rules_for(all)),
            "INTERNAL_ERROR everywhere else; ALLOC_FAILED of OUT_OF_MEMORY alone");
}

TEST(conditions, of_one_outcome_say_where_it_is_seen_and_nothing_of_the_other) {
  const auto where_a = [](const std::vector<example>& examples) {
    return describe_where(rules_for(examples, {.preferred = preferred}), "A", "cell");
  };
  EXPECT_THAT(where_a(cells([](int, auto, auto) { return "A"; })), ElementsAre("everywhere: 36 cells"));
  EXPECT_THAT(where_a(cells([](int, auto, auto) { return "B"; })), IsEmpty());
  EXPECT_THAT(where_a(cells([](int, const std::string& s, auto) { return s == "cold" ? "A" : "B"; })),
              ElementsAre("where cold: 18 cells"));
  EXPECT_THAT(where_a(cells([](int, auto, std::int64_t level) { return level < 64 ? "A" : "B"; })),
              ElementsAre("everywhere but where level 64: 24 cells"));
  auto lone = cells([](int, auto, auto) { return "B"; });
  lone[3].outcome = "A";
  EXPECT_THAT(where_a(lone), ElementsAre("without a common condition: op0.warm.0"));
  auto most = cells([](int, const std::string& s, auto) { return s == "cold" ? "A" : "B"; });
  most[0].outcome = "B";
  most[3].outcome = "A";
  EXPECT_THAT(where_a(most), ElementsAre("where cold: 18 cells, except 1: op0.cold.0", "and: op0.warm.0"));
}

TEST(conditions, are_said_in_words) {
  EXPECT_EQ(describe(condition{"state", relation::is, "cold"}), "cold");
  EXPECT_EQ(describe(condition{"level", relation::at_most, std::int64_t{64}}), "level at most 64");
  EXPECT_EQ(describe(condition{"level", relation::at_least, std::int64_t{64}}), "level at least 64");
  EXPECT_EQ(describe(condition{"workspace_used", relation::is, "yes"}), "workspace used");
  EXPECT_EQ(describe(condition{"workspace_used", relation::is, "no"}), "no workspace used");
  EXPECT_EQ(describe(condition{"code", relation::is, "UNKNOWN"}), "code UNKNOWN");
}

/// Cells with outcomes that have a pattern, and noise.
std::vector<example> drawn(std::mt19937& random) {
  const auto with = [&](int of) { return static_cast<int>(random() % static_cast<unsigned>(of)); };
  const int kind = with(3), noise = with(4);
  return cells(
      [&](int o, const std::string& s, std::int64_t level) -> std::string {
        if (with(10) < noise) return "noise" + std::to_string(with(3));
        if (kind == 0) return s == "cold" ? "A" : "B";
        if (kind == 1) return level > 0 && o < 2 ? "A" : "B";
        return o == 1 ? "A" : level == 16 ? "C" : "B";
      },
      1 + with(8));
}

TEST(conditions, put_every_cell_in_one_rule_whatever_the_order) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same cells each time
  for (int round = 0; round < 100; ++round) {
    std::vector<example> all = drawn(random);
    const auto rules = rules_for(all, {.preferred = preferred});
    std::multiset<std::string> named;
    for (const rule& r : rules) {
      EXPECT_LE(r.where.size(), 3U);
      named.insert(r.covers.begin(), r.covers.end());
      for (const auto& [name, outcome] : r.contradicts) {
        named.insert(name);
        EXPECT_NE(outcome, r.outcome);
      }
    }
    std::multiset<std::string> expected;
    for (const example& e : all) {
      expected.insert(e.name);
      const rule* const held = rule_of(rules, e);
      ASSERT_NE(held, nullptr);
      const bool covered = std::ranges::count(held->covers, e.name) == 1;
      EXPECT_EQ(covered, held->outcome == e.outcome) << e.name;
    }
    EXPECT_EQ(named, expected);
    const auto lines = describe(rules, "cell");
    std::shuffle(all.begin(), all.end(), random);
    EXPECT_EQ(lines_of(all), lines);
  }
}

}  // namespace
}  // namespace cufault
