// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/cost.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/cost_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// The line that refuses the record.
std::string cost_refusal(const std::string& text) {
  return refusal([&] { return cost_record_from("cost.jsonl", text); });
}
std::string cost_refusal(const std::function<void(cost_record&)>& change) {
  cost_record r = costs();
  change(r);
  return cost_refusal(cost_record_text(r));
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(cost_record, is_read_as_it_was_written) {
  const cost_record r = cost_record_from("cost.jsonl", cost_record_text(costs()));
  EXPECT_EQ(cost_record_text(r), cost_record_text(costs()));
  ASSERT_EQ(r.comparisons.size(), 4U);
  EXPECT_EQ(r.comparisons[0].with[0].remedy, "own_workspace");
  EXPECT_EQ(r.comparisons[0].without.device_bytes, 32 << 20);
  EXPECT_EQ(r.comparisons[3].failed, "SIGSEGV");
  EXPECT_TRUE(r.complete);
}

TEST(cost_record, states_words_where_they_differ_from_the_last_ones_of_the_remedy) {
  cost_record r = costs();
  cost_comparison more = compared_cost("more", {{"own_workspace", 1.1}, {"new_handle", 2}});
  more.with[0].words = "a workspace, set before";
  more.with[1].milliseconds.clear();
  more.with[1].failed = "refused";
  r.comparisons.push_back(more);
  more.name = "again";
  r.comparisons.push_back(more);
  const std::string text = cost_record_text(r);
  const auto times_said = [&](const std::string& words) {
    std::size_t n = 0;
    for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(times_said(R"("words":"nothing")"), 1U);
  EXPECT_EQ(times_said(R"("words":"own_workspace in words")"), 1U);
  EXPECT_EQ(times_said(R"("words":"a workspace, set before")"), 1U);
  EXPECT_EQ(times_said(R"("words":"new_handle in words")"), 1U);
  const cost_record again = cost_record_from("cost.jsonl", text);
  ASSERT_EQ(again.comparisons.size(), r.comparisons.size());
  for (std::size_t i = 0; i < r.comparisons.size(); ++i) {
    EXPECT_EQ(again.comparisons[i].without.words, r.comparisons[i].without.words) << i;
    ASSERT_EQ(again.comparisons[i].with.size(), r.comparisons[i].with.size()) << i;
    for (std::size_t k = 0; k < r.comparisons[i].with.size(); ++k)
      EXPECT_EQ(again.comparisons[i].with[k].words, r.comparisons[i].with[k].words) << i;
  }
}

TEST(cost_record, states_the_words_of_each_side_once_at_least) {
  const std::string text = cost_record_text(costs());
  EXPECT_EQ(cost_refusal(replaced(text, R"("words":"nothing",)", "")),
            "cost.jsonl:2: without: no words are stated for it, here or in an earlier line");
  EXPECT_EQ(cost_refusal(replaced(text, R"("words":"new_handle in words",)", "")),
            "cost.jsonl:3: with[0]: no words are stated for it, here or in an earlier line");
  cost_words none, all = none;
  static_cast<void>(cost_line(costs().comparisons[0], all));
  EXPECT_EQ(
      refusal([&] { return cost_comparison_from("worker", cost_line(costs().comparisons[0], all), 1); }),
      "worker:1: without: no words are stated for it, here or in an earlier line");
  EXPECT_EQ(cost_comparison_from("worker", cost_line(costs().comparisons[0], none), 1).without.words,
            "nothing");
}

TEST(cost_record, of_a_run_that_was_killed_is_read_up_to_there) {
  const std::string whole = cost_record_text(costs());
  const std::string without_end = whole.substr(0, whole.rfind('{'));
  EXPECT_FALSE(cost_record_from("c", without_end).complete);
  EXPECT_EQ(cost_record_from("c", without_end).comparisons.size(), 4U);
  // Half of the last comparison.
  const auto cut = without_end.rfind("\"work\"");
  EXPECT_EQ(cost_record_from("c", without_end.substr(0, cut)).comparisons.size(), 3U);
}

TEST(cost_record, is_refused_with_file_and_line_where_it_is_cut_within) {
  EXPECT_THAT(cost_refusal(replaced(cost_record_text(costs()), "\"clock\":\"device\",", "\"clock\":\n")),
              StartsWith("cost.jsonl:2: "));
  EXPECT_THAT(cost_refusal(std::string()), HasSubstr("an empty record"));
  EXPECT_THAT(cost_refusal(std::string("{\"case\":\"memory.leak\"}\n")), HasSubstr("cost_schema"));
}

TEST(cost_record, of_another_schema_says_what_to_do) {
  const std::string text = cost_record_text(costs());
  EXPECT_THAT(cost_refusal(replaced(text, "\"cost_schema\":2", "\"cost_schema\":3")),
              HasSubstr("made by a newer cufault: schema 3, and this one reads 2; update cufault"));
  EXPECT_THAT(cost_refusal(replaced(text, "\"cost_schema\":2", "\"cost_schema\":1")),
              HasSubstr("made by an older cufault: schema 1, and this one reads 2; run remedy_cost again"));
}

TEST(cost_record, takes_no_time_that_is_none) {
  const auto time_of = [](double value) {
    return cost_refusal([value](cost_record& r) { r.comparisons[0].with[0].milliseconds[3] = value; });
  };
  EXPECT_THAT(time_of(std::numeric_limits<double>::quiet_NaN()), HasSubstr("a time is a number above 0"));
  EXPECT_THAT(time_of(std::numeric_limits<double>::infinity()), HasSubstr("a time is a number above 0"));
  EXPECT_THAT(time_of(0), HasSubstr("a time is a number above 0"));
  EXPECT_THAT(time_of(-1), HasSubstr("a time is a number above 0"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].again[0] = -1; }),
              HasSubstr("a time is a number above 0"));
  // A median of such times, or a ratio, may be no number.
  EXPECT_THAT(time_of(std::numeric_limits<double>::denorm_min()), HasSubstr("a time is from 1e-09 to"));
  EXPECT_THAT(time_of(1e300), HasSubstr("a time is from 1e-09 to"));
  for (const double none : {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e300})
    EXPECT_THAT(cost_refusal([none](cost_record& r) { r.comparisons[0].operations = none; }),
                HasSubstr("numbers from 0 to"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[0].device_bytes = INT64_MIN; }),
              HasSubstr("no GPU has"));
}

TEST(cost_record, takes_nothing_twice) {
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons.push_back(r.comparisons[0]); }),
              HasSubstr("stands twice"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[1] = r.comparisons[0].with[0]; }),
              HasSubstr("stands twice"));
  cost_words none;
  EXPECT_THAT(cost_refusal(cost_record_text(costs()) + cost_line(compared_cost("more", {}), none) + "\n"),
              HasSubstr("behind the last one"));
}

TEST(cost_record, has_a_time_for_each_round) {
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].again.pop_back(); }),
              HasSubstr("8 times, and 9 rounds"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[0].milliseconds.pop_back(); }),
              HasSubstr("8 times, and 9 rounds"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[0].failed = "refused"; }),
              HasSubstr("a side that failed has no times"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].failed = "refused"; }),
              HasSubstr("has no samples"));
}

TEST(cost_record, knows_its_words) {
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].clock = "sun"; }),
              HasSubstr("expected device or host"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[0].remedy = "a b"; }),
              HasSubstr("a-z"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.comparisons[0].with[0].numbers = "fine"; }),
              HasSubstr("right or wrong"));
  EXPECT_THAT(cost_refusal([](cost_record& r) { r.size = "huge"; }), HasSubstr("usual or tiny"));
  EXPECT_THAT(cost_refusal(replaced(cost_record_text(costs()), "\"work\":", "\"speed\":1,\"work\":")),
              HasSubstr("speed"));
}

using cost_files = in_directory;

TEST_F(cost_files, lie_in_the_folders_of_stacks_and_are_no_cases) {
  const fs::path stack = directory / "h200";
  fs::create_directory(stack);
  write_whole(stack / "stack.json", R"({"schema": 5, "stack": {"keys": {"cublas": "13.1.0"}}, "runs": []})");
  write_whole(stack / cost_file, cost_record_text(costs()));
  write_whole(directory / cost_file, cost_record_text(costs()));
  EXPECT_TRUE(load_record(stack).cases.empty());
  EXPECT_THAT(records_in({directory}), ElementsAre(stack));
  EXPECT_THAT(cost_records_in({directory}), ElementsAre(directory / cost_file, stack / cost_file));
  EXPECT_THAT(cost_records_in({stack}), ElementsAre(stack / cost_file));
  const fs::path loop = directory / "loop";
  fs::create_directory_symlink(loop, loop);
  EXPECT_EQ(refusal([&] { static_cast<void>(cost_records_in({loop})); }),
            loop.string() + ": cannot be read: Too many levels of symbolic links");
  EXPECT_EQ(load_cost_record(stack).comparisons.size(), 4U);
}

}  // namespace
}  // namespace cufault
