// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How a gate and a comparison are printed: reports/answers/tests/gates.txt.
#include "reports/printers/comparison.hpp"

#include "reports/model/record.hpp"
#include "reports/printers/groups.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;

std::string text_of(const comparison& all, table_style style = table_style::text,
                    arm_extent extent = arm_extent::groups) {
  std::ostringstream out;
  print_comparison(out, all, "gate", style, extent);
  return out.str();
}

TEST(groups, with_equal_words_and_other_verdicts_stay_apart) {
  const std::vector<described_arm> arms{{"a/1", "", verdict::gone, "A → B"},
                                        {"a/2", "", verdict::changed, "A → B"},
                                        {"a/3", "", verdict::gone, "A → B"},
                                        {"a/4", "", verdict::worsened, "A → B", " [allowed]"}};
  const auto groups = groups_of(arms);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].v, verdict::changed);
  EXPECT_THAT(groups[1].arms, testing::ElementsAre(0U, 2U));
  EXPECT_EQ(groups[2].allowed, " [allowed]") << "it comes last, whatever it is";
  EXPECT_TRUE(groups_of({}).empty());
}

TEST(groups, begin_with_what_a_user_loses_and_end_with_undefined_behaviour) {
  std::vector<described_arm> arms;
  for (const loss lost : {loss::undefined_behaviour, loss::hang, loss::crash, loss::memory_written,
                          loss::wrong_numbers, loss::status})
    for (const verdict v : {verdict::changed, verdict::worsened})
      for (const char* name : {"x.a/b", "x.a/c"}) arms.push_back({name, "line", v, "A → B", {}, lost});
  std::vector<std::pair<verdict, loss>> order;
  for (const change_group& g : groups_of(arms)) order.emplace_back(g.v, g.lost);
  ASSERT_EQ(order.size(), 12U);
  EXPECT_EQ(order[0], std::pair(verdict::worsened, loss::wrong_numbers));
  EXPECT_EQ(order[1], std::pair(verdict::worsened, loss::memory_written));
  EXPECT_EQ(order[3], std::pair(verdict::worsened, loss::hang));
  EXPECT_EQ(order[5], std::pair(verdict::changed, loss::wrong_numbers));
  EXPECT_EQ(order[11], std::pair(verdict::changed, loss::undefined_behaviour));
  EXPECT_EQ(line_of(groups_of(arms).back(), true),
            "2 arms CHANGED: A → B (undefined behaviour): x.a/b, x.a/c");
}

TEST(groups, beyond_a_screen_are_one_line_which_says_what_prints_them) {
  std::vector<described_arm> arms;
  for (int i = 0; i < 13; ++i)
    arms.push_back({fmt::format("a/{}", i), fmt::format("line {}", i), verdict::changed,
                    fmt::format("change {}", std::min(i, 11))});
  const auto lines = lines_of(groups_of(arms), true, most_groups, "--names");
  ASSERT_EQ(lines.size(), most_groups);
  EXPECT_EQ(lines[0], "2 arms CHANGED: change 11: a/11, a/12") << "the largest";
  EXPECT_EQ(lines[1], "CHANGED: line 0");
  EXPECT_EQ(lines.back(), "and 5 further changes of 5 arms: --names");
  EXPECT_EQ(lines_of(groups_of(arms), false, SIZE_MAX, {}).size(), 12U);
  arms.resize(most_groups);
  EXPECT_EQ(lines_of(groups_of(arms), true, most_groups, "--names").back(), "CHANGED: line 7") << "it fits";
}

TEST(groups, of_recorded_releases_are_a_screen) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  const auto lines_between = [&](const char* before, const char* after) {
    const std::string stack = "h200-580.159.04-cublas-";
    const std::array both{load_record(recorded / (stack + before)), load_record(recorded / (stack + after))};
    std::istringstream text(text_of(compare(both)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  };
  const auto near = lines_between("13.4.3", "13.5.1");
  EXPECT_LE(near.size(), 10U);
  EXPECT_THAT(near,
              testing::Contains(testing::StartsWith("83 arms CHANGED: EXECUTION_FAILED → INTERNAL_ERROR: ")));
  std::size_t rows = 0;
  for (const std::string& line : lines_between("12.4.5", "13.10.0")) rows += wrapped(line, 80).size();
  EXPECT_LE(rows, 26U);
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
  const auto text = text_of(all, table_style::markdown, arm_extent::whole);
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_GT(text.size(), markdown_limit / 2);
  EXPECT_THAT(text, HasSubstr(" more do not fit here.\n"));
  EXPECT_THAT(text, HasSubstr("3000 arms: 0 as before, 3000 CHANGED; 1 case"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<<"), std::string::npos);
}

}  // namespace
}  // namespace cufault
