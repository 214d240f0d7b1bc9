// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/comparison.hpp"

#include "reports/printers/groups.hpp"
#include "reports/printers/tests/record_example.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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
                    arm_extent extent = arm_extent::groups) {
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
  EXPECT_TRUE(contains(text, "\nCHANGED: memory.leak/fault: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR\n"))
      << text;
  EXPECT_FALSE(contains(text, "context usable")) << text;
  EXPECT_TRUE(contains(text,
                       "\n3 arms: 2 as before, 1 CHANGED; CHANGED: check what code relies on the old status, "
                       "then accept it; all: --names, --in-full\n"))
      << text;
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
  EXPECT_TRUE(contains(text, "6 arms: 2 as before, 1 CHANGED, 3 not asked for; CHANGED: check")) << text;
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
      "The stacks differ: cublas 13.1.0 → 13.10.0\n"
      "ABSENT: memory.leak/lost: asked for, and not in the record\n"
      "CHANGED: memory.leak/fault: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR [allowed until 2026-12-31: "
      "known]\n"
      "\n"
      "allowances that have expired, and cover nothing.\n"
      "  a.json:5: ABSENT of */lost (until 2025-12-31: last year)\n"
      "\n"
      "allowances that nothing needs: remove them.\n"
      "  a.json:4: GONE of */none (until 2026-12-31: of old)\n"
      "5 arms: 2 as before, 1 CHANGED, 1 ABSENT, 1 NEW; 1 case of the candidate executed, the floor is 1; "
      "ABSENT: run the same cases and tiers of both; all: --names, --in-full\n"
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
  const comparison all = between(before, after);
  const auto text = text_of(all, "gate");
  EXPECT_THAT(text, HasSubstr("\nCHANGED: memory.leak/fault (a handle more): cublasCreate: "));
  EXPECT_THAT(text, HasSubstr("\n2 arms ABSENT: no room: memory.leak/one, memory.leak/two\n"));
  const auto whole = text_of(all, "gate", table_style::text, arm_extent::whole);
  EXPECT_THAT(whole, HasSubstr("  memory.leak/fault (a handle more): cublasCreate: "));
  EXPECT_THAT(whole, HasSubstr("ABSENT, 2 arms: "));
  EXPECT_THAT(whole, HasSubstr("  memory.leak: one, two (no room)\n"));
}

/// So many arms that came to one status before, and to another.
struct rewritten_arms {
  int arms;
  const char *before, *now;
};

/// Each arm calls another function than the one before, by a size of its own.
comparison gate_of(const std::vector<rewritten_arms>& all) {
  auto before = example_record(), after = example_record();
  int number = 0;
  for (const rewritten_arms& r : all)
    for (int i = 0; i < r.arms; ++i) {
      ++number;
      const auto add = [&](record& to, const char* status) {
        observation o = trial({});
        o.calls = {call(number % 2 == 0 ? "cublasSgemm" : "cublasDgemm", status)};
        o.calls[0].what.name.variant = fmt::format("n_of_{}", number);
        to.cases.push_back({fmt::format("matrix.c{}", number % 3),
                            {arm(arm_kind::fault, {o}, fmt::format("arm{:02}", number))}});
      };
      add(before, r.before);
      add(after, r.now);
    }
  return between(before, after);
}

TEST(groups, are_a_line_a_change_the_worst_first_then_the_largest) {
  constexpr auto not_initialized = "CUBLAS_STATUS_NOT_INITIALIZED", bad_value = "CUBLAS_STATUS_INVALID_VALUE";
  const auto text = text_of(gate_of({{1, no_memory, bad_value},
                                     {6, internal, bad_value},
                                     {24, no_memory, internal},
                                     {1, internal, not_initialized},
                                     {1, internal, wrong}}),
                            "gate");
  EXPECT_THAT(
      text,
      HasSubstr("\nThe stacks are equal.\n"
                "WORSENED: matrix.c0/arm33: cublasDgemm n_of_33: INTERNAL_ERROR → SUCCESS, numbers wrong\n"
                "24 arms CHANGED: ALLOC_FAILED → INTERNAL_ERROR: matrix.c0/arm09, matrix.c1/arm10\n"
                "6 arms CHANGED: INTERNAL_ERROR → INVALID_VALUE: matrix.c0/arm03, matrix.c1/arm04\n"
                "CHANGED: matrix.c1/arm01: cublasDgemm n_of_1: ALLOC_FAILED → INVALID_VALUE\n"
                "CHANGED: matrix.c2/arm32: cublasSgemm n_of_32: INTERNAL_ERROR → NOT_INITIALIZED\n"
                "36 arms: 3 as before, "));
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
    std::istringstream text(text_of(
        between(load_record(recorded / (stack + before)), load_record(recorded / (stack + after))), "gate"));
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
  EXPECT_EQ(j["arms"][1]["change"], "ALLOC_FAILED → INTERNAL_ERROR");
  EXPECT_EQ(j["groups"].dump(), R"([{"allowed":false,"arms":1,"change":"asked for, and not in the record",)"
                                R"("examples":["memory.leak/lost"],"verdict":"ABSENT"},)"
                                R"({"allowed":true,"arms":1,"change":"ALLOC_FAILED → INTERNAL_ERROR",)"
                                R"("examples":["memory.leak/fault"],"verdict":"CHANGED"}])");
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
  const auto text = text_of(all, "gate", table_style::markdown, arm_extent::whole);
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_GT(text.size(), markdown_limit / 2);
  EXPECT_THAT(text, HasSubstr(" more do not fit here.\n"));
  EXPECT_THAT(text, HasSubstr("3000 arms: 0 as before, 3000 CHANGED; 1 case"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<<"), std::string::npos);
}

}  // namespace
}  // namespace cufault
