// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/list_difference.hpp"

#include "reports/base/json_input.hpp"
#include "reports/model/tests/record_example.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <string>

namespace cufault {
namespace {

using ordered = nlohmann::ordered_json;

ordered changed(const std::string& from, const std::string& edits) {
  return changed_list(ordered::parse(from), json_cursor{parse_json("x", edits)});
}

std::string difference(const std::string& from, const std::string& to) {
  const ordered edits = list_difference(ordered::parse(from), ordered::parse(to));
  EXPECT_EQ(changed(from, edits.dump()), ordered::parse(to)) << edits;
  return edits.at("edits").dump();
}

TEST(list_difference, has_the_items_that_are_other_ones) {
  EXPECT_EQ(difference(R"(["a","b","c"])", R"(["a","b","c"])"), "[]");
  EXPECT_EQ(difference(R"(["a","b","c"])", R"(["a","x","c"])"), R"([[1,1,["x"]]])");
  EXPECT_EQ(difference(R"(["a","b","c","d"])", R"(["x","b","d"])"), R"([[0,1,["x"]],[2,1,[]]])");
  EXPECT_EQ(difference(R"(["a","b"])", R"(["a","b",{"step":"c"}])"), R"([[2,0,[{"step":"c"}]]])");
  EXPECT_EQ(difference(R"(["b"])", R"(["a","b"])"), R"([[0,0,["a"]]])");
  EXPECT_EQ(difference("[]", R"([["rows",1]])"), R"([[0,0,[["rows",1]]]])");
  EXPECT_EQ(difference(R"(["a"])", "[]"), "[[0,1,[]]]");
  EXPECT_EQ(difference(R"(["a","b","c","d","e"])", R"(["c","d","x","e"])"), R"([[0,2,[]],[4,0,["x"]]])");
}

TEST(list_difference, restores_lists_that_were_changed_at_random) {
  std::mt19937 random(7);
  const auto number = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
  for (int round = 0; round < 300; ++round) {
    ordered from = ordered::array(), to = ordered::array();
    for (int i = number(12); i > 0; --i) from.push_back(number(4));
    for (const ordered& item : from) {
      if (number(4) == 0) to.push_back(number(4));
      if (number(4) != 0) to.push_back(item);
    }
    difference(from.dump(), to.dump());
  }
}

TEST(list_difference, of_long_lists_is_found_too) {
  ordered from = ordered::array(), to;
  for (int i = 0; i < 5000; ++i) from.push_back(i);
  to = from;
  to[10] = "x";
  to[4990] = "y";
  const ordered edits = list_difference(from, to).at("edits");
  ASSERT_EQ(edits.size(), 1U) << "one for all between the ends that are alike";
  EXPECT_EQ(edits[0].at(0), 10);
  EXPECT_EQ(edits[0].at(1), 4981);
  EXPECT_EQ(changed(from.dump(), ordered{{"edits", edits}}.dump()), to);
}

TEST(list_difference, that_does_not_fit_is_refused) {
  const auto why = [](const std::string& edits) {
    return examples::refusal([&] { return changed(R"(["a","b"])", edits); });
  };
  const std::string beyond =
      "it overlaps an earlier edit, or ends beyond the list of the base, which has 2 items";
  EXPECT_EQ(why(R"({"edits":[[0,1,[]],[1,1,["x"]]]})"), "(nothing was refused)");
  EXPECT_EQ(why(R"({"edits":[[0,1,[]],[0,1,["x"]]]})"), "x:1: edits[1]: " + beyond);
  EXPECT_EQ(why(R"({"edits":[[3,0,[]]]})"), "x:1: edits[0]: " + beyond);
  EXPECT_EQ(why(R"({"edits":[[1,2,[]]]})"), "x:1: edits[0]: " + beyond);
  EXPECT_EQ(why(R"({"edits":[[1,18446744073709551615,[]]]})"), "x:1: edits[0]: " + beyond);
  EXPECT_EQ(why(R"({"edits":[[0,1]]})"), "x:1: edits[0]: an edit is [first, count, [ITEM, ...]]");
  EXPECT_EQ(why(R"({"edits":[],"more":1})"), "x:1: more: unknown key");
  EXPECT_EQ(why(R"({"edits":[[-1,1,[]]]})"), "x:1: edits[0][0]: expected no negative number, found -1");
}

}  // namespace
}  // namespace cufault
