// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/render.hpp"

#include "reports/printers/tests/record_example.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;

std::string verdicts(const record& r, table_style style) {
  std::ostringstream out;
  print_verdicts(out, r, style);
  return out.str();
}

TEST(verdict_table, puts_the_worst_first_and_counts) {
  EXPECT_EQ(
      verdicts(example_record(), table_style::text),
      "case         arm      kind     verdict     what was seen\n"
      "memory.leak  trim     remedy   WORSENED    cublasDestroy: never returned; crashed: SIGSEGV in "
      "cublasDestroy; "
      "context none\n"
      "memory.leak  fault    fault    REPRODUCED  cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable\n"
      "memory.leak  control  control  OK          cublasCreate: CUBLAS_STATUS_SUCCESS; context usable\n"
      "\n"
      "WORSENED: a status became a crash, a hang, wrong numbers or a damaged context: do not upgrade; send "
      "the maker of the driver or library what cufault report RECORD --since OLD -o DIR writes.\n"
      "  memory.leak/trim: expected a; seen b\n"
      "\n"
      "3 arms: 1 WORSENED, 1 REPRODUCED, 1 OK\n");
}

TEST(verdict_table, in_brief_counts_by_case_what_is_as_expected_where_that_is_much) {
  auto r = example_record();
  const auto brief = [&] {
    std::ostringstream out;
    print_verdicts(out, r, table_style::text, {}, true);
    return out.str();
  };
  EXPECT_EQ(brief(), verdicts(r, table_style::text)) << "little";
  r.cases.push_back({.name = "memory.many"});
  for (int i = 0; i < 20; ++i)
    r.cases.back().arms.push_back(
        judged(arm_kind::control, fmt::format("arm_{}", i), verdict::ok, {trial({right})}));
  EXPECT_THAT(brief(),
              testing::StartsWith("  memory.leak: 1 REPRODUCED, 1 OK\n  memory.many: 20 OK\n\n"
                                  "Only arms that are red are listed; CASE or CASE/ARM lists others.\n\n"
                                  "case         arm   kind    verdict   what was seen\n"
                                  "memory.leak  trim  remedy  WORSENED  "));
  EXPECT_THAT(brief(), testing::Not(testing::HasSubstr("arm_7")));
  EXPECT_THAT(brief(), testing::EndsWith("\n23 arms: 1 WORSENED, 1 REPRODUCED, 21 OK\n"));
}

TEST(verdict_table, says_of_a_race_in_how_many_trials) {
  auto r = example_record();
  arm_result& fault = r.cases[0].arms[1];
  fault.races = "chance";
  fault.trials = {trial({no_memory}), trial({no_memory}), trial({no_memory})};
  const std::string failed = "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable";
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "REPRODUCED  3 of 3: " + failed + "\n"));
  fault.trials.back() = trial({internal});
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "REPRODUCED  2 of 3: " + failed + " | 1 of 3: "));
  fault.trials = {not_provoked("no GPU")};
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "REPRODUCED  not_provoked: no GPU\n"));
}

TEST(verdict_table, says_what_is_made_up_and_what_a_remedy_costs_that_cleared) {
  auto r = example_record();
  r.cases[0].arms = {
      judged(arm_kind::fault, "fault", verdict::reproduced, {trial({no_memory})}),
      judged(arm_kind::remedy, "trim", verdict::cleared, {trial({no_memory}, {right})}),
      judged(arm_kind::dead_end, "retry", verdict::still_fails, {trial({no_memory}, {no_memory})})};
  r.cases[0].arms[0].made_up = true;
  const auto printed = [&](const cost_notes& costs) {
    std::ostringstream out;
    print_verdicts(out, r, table_style::markdown, costs);
    return out.str();
  };
  const std::string stack = stack_label(r);
  const std::string text = printed(
      {{stack, {{"trim", "costs 3.0 %; 64 MiB"}, {"retry", "costs 9.0 %"}, {"fault", "costs 8.0 %"}}}});
  EXPECT_TRUE(contains(text, "| fault | fault, made up | REPRODUCED |")) << text;
  EXPECT_TRUE(contains(text, "; costs 3.0 %; 64 MiB |\n")) << text;
  EXPECT_FALSE(contains(text, "9.0 %") || contains(text, "8.0 %")) << "it cleared nothing";
  EXPECT_EQ(printed({{"another stack", {{"trim", "costs 3.0 %"}}}}), printed({}));
}

TEST(verdict_table, asks_for_nothing_where_all_went_as_expected) {
  auto r = example_record();
  for (const auto v : {verdict::as_predicted, verdict::undefined}) {
    r.cases[0].arms[2].judged = v;
    EXPECT_TRUE(
        verdicts(r, table_style::text).ends_with("3 arms: 1 " + to_string(v) + ", 1 REPRODUCED, 1 OK\n"));
  }
}

TEST(verdict_table, asks_for_something_for_every_other_verdict) {
  for (const auto v : {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken,
                       verdict::differs, verdict::unrecorded, verdict::not_provoked, verdict::unresolved}) {
    auto r = example_record();
    r.cases[0].arms = {judged(arm_kind::fault, "fault", v, {trial({success})}, "the reason")};
    const auto text = verdicts(r, table_style::text);
    EXPECT_TRUE(contains(text, "\n\n" + to_string(v) + ": ")) << text;
    EXPECT_TRUE(text.ends_with("\n\n1 arm: 1 " + to_string(v) + "\n")) << text;
    // Of an arm that nobody recorded the table has said all there is.
    EXPECT_EQ(contains(text, "  memory.leak/fault: the reason\n"), v != verdict::unrecorded) << text;
  }
}

TEST(verdict_table, says_so_where_no_arm_ran_or_the_run_was_cut_short) {
  EXPECT_EQ(verdicts(record{}, table_style::text), "no arm ran: a run in which nothing ran is not green\n");
  auto r = example_record();
  EXPECT_FALSE(contains(verdicts(r, table_style::text), "did not come to its end"));
  r.complete = false;
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "The run did not come to its end."));
}

TEST(verdict_table, is_escaped_in_markdown) {
  auto r = example_record();
  r.cases[0].arms = {
      judged(arm_kind::fault, "fault", verdict::not_provoked, {not_provoked("a|b\n<c>\x01.")})};
  const auto text = verdicts(r, table_style::markdown);
  EXPECT_TRUE(
      contains(text, "| case | arm | kind | verdict | what was seen |\n| --- | --- | --- | --- | --- |\n"))
      << text;
  EXPECT_TRUE(
      contains(text, "| memory.leak | fault | fault | NOT_PROVOKED | not_provoked: a\\|b<br>&lt;c> . |\n"))
      << text;
}

TEST(verdict_table, keeps_one_arm_on_one_line_of_text) {
  auto r = example_record();
  r.cases[0].arms = {
      judged(arm_kind::fault, "fault", verdict::not_provoked, {not_provoked("a|b\nc\x1b[2J")})};
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "not_provoked: a|b c [2J\n"));
}

}  // namespace
}  // namespace cufault
