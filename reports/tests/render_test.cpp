// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/render.hpp"

#include "reports/tests/examples.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

arm_result judged(arm_kind kind, std::string name, verdict v, std::vector<observation> trials,
                  std::string why = {}) {
  auto a = arm(kind, std::move(trials), std::move(name));
  a.judged = v;
  a.why = std::move(why);
  return a;
}

record example() {
  record r;
  r.started = "2026-11-21T07:27:40Z";
  r.stack = {{"keys", {{"cublas", "13.1.0"}}}};
  r.complete = true;
  r.cases = {
      {.name = "memory.leak",
       .summary = "",
       .arms = {judged(arm_kind::control, "control", verdict::ok, {trial({success})}),
                judged(arm_kind::fault, "fault", verdict::reproduced, {trial({no_memory})}),
                judged(arm_kind::remedy, "trim", verdict::worsened, {crash({})}, "expected a; seen b")}}};
  return r;
}

std::string verdicts(const record& r, table_style style) {
  std::ostringstream out;
  print_verdicts(out, r, style);
  return out.str();
}

struct differences {
  int count;
  std::string text;
};

differences between(const record& before, const record& after, table_style style = table_style::text) {
  std::ostringstream out;
  const std::array both{before, after};
  const auto count = print_differences(out, both, style);
  return {count, out.str()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(verdict_table, puts_the_worst_first_and_counts) {
  EXPECT_EQ(
      verdicts(example(), table_style::text),
      "case         arm      kind     verdict     what was seen\n"
      "memory.leak  trim     remedy   WORSENED    cublasDestroy: never returned; crashed: SIGSEGV in "
      "cublasDestroy; "
      "context none\n"
      "memory.leak  fault    fault    REPRODUCED  cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable\n"
      "memory.leak  control  control  OK          cublasCreate: CUBLAS_STATUS_SUCCESS; context usable\n"
      "\n"
      "3 arms: 1 WORSENED, 1 REPRODUCED, 1 OK\n"
      "\n"
      "WORSENED: a status became a crash, a hang, wrong numbers or a damaged context: do not upgrade; report "
      "it with "
      "this record.\n"
      "  memory.leak/trim: expected a; seen b\n");
}

TEST(verdict_table, asks_for_nothing_where_all_went_as_expected) {
  auto r = example();
  r.cases[0].arms.pop_back();
  EXPECT_TRUE(verdicts(r, table_style::text).ends_with("2 arms: 1 REPRODUCED, 1 OK\n"));
}

TEST(verdict_table, asks_for_something_for_every_other_verdict) {
  for (const auto v : {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken,
                       verdict::uncharted, verdict::not_provoked, verdict::unresolved}) {
    auto r = example();
    r.cases[0].arms = {judged(arm_kind::fault, "fault", v, {trial({success})}, "the reason")};
    const auto text = verdicts(r, table_style::text);
    EXPECT_TRUE(contains(text, "1 arm: 1 " + to_string(v) + "\n\n" + to_string(v) + ": ")) << text;
    // For an uncharted arm the table has said all there is.
    EXPECT_EQ(contains(text, "  memory.leak/fault: the reason\n"), v != verdict::uncharted) << text;
  }
}

TEST(verdict_table, gives_the_reason_where_nothing_was_seen) {
  auto r = example();
  r.cases[0].arms = {judged(arm_kind::fault, "fault", verdict::not_provoked, {not_provoked("no GPU")}),
                     judged(arm_kind::fault, "other", verdict::unresolved, {})};
  const auto text = verdicts(r, table_style::text);
  EXPECT_TRUE(contains(text, "not_provoked: no GPU\n")) << text;
  EXPECT_TRUE(contains(text, "nothing: no trial was recorded\n")) << text;
}

TEST(verdict_table, says_so_where_no_arm_ran_or_the_run_was_cut_short) {
  EXPECT_EQ(verdicts(record{}, table_style::text), "no arm ran: a run in which nothing ran is not green\n");
  auto r = example();
  EXPECT_FALSE(contains(verdicts(r, table_style::text), "did not come to its end"));
  r.complete = false;
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "The run did not come to its end."));
}

TEST(verdict_table, is_escaped_in_markdown) {
  auto r = example();
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
  auto r = example();
  r.cases[0].arms = {
      judged(arm_kind::fault, "fault", verdict::not_provoked, {not_provoked("a|b\nc\x1b[2J")})};
  EXPECT_TRUE(contains(verdicts(r, table_style::text), "not_provoked: a|b c [2J\n"));
}

TEST(claims_table, shows_each_verdict_with_its_evidence) {
  const std::vector<claim_verdict> list{
      {.what = {.id = "S0-5",
                .kind = 'F',
                .text = "too little memory",
                .status = {},
                .call = {},
                .untestable = {}},
       .verdict = "other status",
       .evidence = {{"memory.leak", "fault", "cuBLAS 13.1.0", "other status", "cublasCreate: X"},
                    {"memory.leak", "whole", "cuBLAS 13.1.0", "other status", "cublasCreate: X"},
                    {"memory.leak", "fault", "cuBLAS 12.4.5", "refuted", "cublasCreate: Y"}}},
      {.what = {.id = "S2-6",
                .kind = 'X',
                .text = "an address",
                .status = {},
                .call = {},
                .untestable = "nothing to run"},
       .verdict = "untestable",
       .evidence = {}}};
  std::ostringstream text;
  print_claims(text, list, table_style::text);
  EXPECT_EQ(text.str(),
            "claim  kind  verdict       what it says\n"
            "S0-5   F     other status  too little memory\n"
            "                             memory.leak/fault (cuBLAS 13.1.0): other status: cublasCreate: X\n"
            "                             memory.leak/whole (cuBLAS 13.1.0): other status: cublasCreate: X\n"
            "                             memory.leak/fault (cuBLAS 12.4.5): refuted: cublasCreate: Y\n"
            "S2-6   X     untestable    an address\n"
            "                             nothing to run\n"
            "\n"
            "2 claims: 1 other status, 1 untestable\n");
  std::ostringstream markdown;
  print_claims(markdown, list, table_style::markdown);
  EXPECT_TRUE(
      contains(markdown.str(),
               "| S0-5 | F | other status | too little memory | "
               "other status by memory.leak/fault, whole (b)<br>refuted by memory.leak/fault (a) |\n"))
      << markdown.str();
  EXPECT_TRUE(markdown.str().starts_with("- a: cuBLAS 12.4.5\n- b: cuBLAS 13.1.0\n\n| claim |"))
      << markdown.str();
}

TEST(difference_table, of_equal_records_is_empty) {
  auto after = example();
  after.stack = {{"keys", {{"cublas", "12.9.1"}}}};
  after.cases[0].arms[1].trials[0].milliseconds = 7;
  const auto d = between(example(), after);
  EXPECT_EQ(d.count, 0);
  EXPECT_EQ(d.text, "0 arms different or missing, 3 equal\n");
}

TEST(difference_table, shows_both_sides_of_each_difference) {
  auto after = example();
  after.started = "2026-11-22T07:27:40Z";
  after.cases[0].arms[1].trials = {trial({internal})};
  const auto d = between(example(), after);
  EXPECT_EQ(d.count, 1);
  EXPECT_TRUE(contains(
      d.text,
      "memory.leak/fault\n"
      "  cuBLAS 13.1.0 (2026-11-21T07:27:40Z): cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable\n"
      "  cuBLAS 13.1.0 (2026-11-22T07:27:40Z): cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; context usable\n"
      "\n"
      "1 arm different or missing, 2 equal\n"))
      << d.text;
}

TEST(difference_table, shows_arms_that_only_one_record_has) {
  auto after = example();
  after.cases[0].arms.pop_back();
  after.cases.push_back({.name = "memory.new",
                         .summary = "",
                         .arms = {judged(arm_kind::fault, "fault", verdict::uncharted, {trial({success})})}});
  const auto d = between(example(), after, table_style::markdown);
  EXPECT_EQ(d.count, 2);
  EXPECT_TRUE(
      contains(d.text,
               "| memory.leak | trim | cublasDestroy: never returned; crashed: SIGSEGV in cublasDestroy; "
               "context none | (no such arm) |\n"))
      << d.text;
  EXPECT_TRUE(contains(
      d.text,
      "| memory.new | fault | (no such arm) | cublasCreate: CUBLAS_STATUS_SUCCESS; context usable |\n"))
      << d.text;
}

TEST(difference_table, counts_an_arm_that_one_record_could_not_observe_as_different) {
  auto after = example();
  after.cases[0].arms[1].trials = {not_provoked("no GPU")};
  EXPECT_EQ(between(example(), after).count, 1);
  const auto neither = between(after, after);
  EXPECT_EQ(neither.count, 0);
  EXPECT_TRUE(contains(neither.text, "0 arms different or missing, 2 equal, 1 observed in none\n"))
      << neither.text;
}

TEST(difference_table, has_a_column_for_each_record) {
  std::array three{example(), example(), example()};
  three[1].stack = {{"keys", {{"cublas", "12.0.1"}}}};
  three[2].stack = {{"keys", {{"cublas", "13.4.0"}}}};
  three[2].cases[0].arms[1].trials = {trial({internal})};
  std::ostringstream out;
  EXPECT_EQ(print_differences(out, three, table_style::markdown), 1);
  EXPECT_TRUE(contains(out.str(), "| case | arm | cuBLAS 13.1.0 | cuBLAS 12.0.1 | cuBLAS 13.4.0 |\n"))
      << out.str();
}

TEST(difference_table, by_stack_has_the_last_observed_arm_of_each_and_counts_what_not_all_have) {
  auto earlier = example(), spoilt = example(), other = example(), rest = example();
  earlier.started = "2026-11-20T00:00:00Z";
  earlier.cases[0].arms[1].trials = {trial({success})};
  spoilt.cases[0].arms[1].trials = {not_provoked("no GPU")};
  spoilt.cases[0].arms.pop_back();
  rest.cases[0].name = "memory.rest";
  other.stack = {{"keys", {{"cublas", "12.0.1"}}}};
  other.cases[0].arms[1].trials = {trial({internal})};
  const auto stacks = merged_by_stack({example(), earlier, spoilt, other, rest});
  ASSERT_EQ(stacks.size(), 2U);
  std::ostringstream out;
  EXPECT_EQ(print_differences(out, stacks, table_style::markdown, missing_arms::counted), 1);
  EXPECT_TRUE(contains(out.str(), "| case | arm | cuBLAS 13.1.0 | cuBLAS 12.0.1 |\n")) << out.str();
  EXPECT_TRUE(contains(out.str(),
                       "CUBLAS_STATUS_ALLOC_FAILED; context usable | cublasCreate: "
                       "CUBLAS_STATUS_INTERNAL_ERROR"))
      << out.str();
  EXPECT_TRUE(contains(out.str(), "1 arm different, 2 equal, 3 not observed in all\n")) << out.str();
}

TEST(difference_table, holds_a_race_for_the_same_where_a_signature_is_shared) {
  auto before = example(), after = example();
  for (auto* r : {&before, &after}) r->cases[0].arms[1].races = "chance";
  before.cases[0].arms[1].trials = {trial({no_memory}), trial({internal}), trial({no_memory})};
  after.cases[0].arms[1].trials = {trial({internal}), trial({internal}), trial({success})};
  EXPECT_EQ(between(before, after).count, 0);
  after.cases[0].arms[1].trials = {trial({success})};
  const auto d = between(before, after);
  EXPECT_EQ(d.count, 1);
  EXPECT_TRUE(contains(d.text,
                       "2 of 3: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | 1 of 3: "
                       "cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR"))
      << d.text;
}

TEST(cause_table, names_each_arm_whose_call_returned_the_status) {
  std::array two{example(), example()};
  two[1].stack = {{"keys", {{"cublas", "12.0.1"}}}};
  std::ostringstream out, none;
  print_causes(out, no_memory, two, table_style::markdown);
  EXPECT_TRUE(contains(out.str(), "| cublasCreate | memory.leak/fault |")) << out.str();
  EXPECT_TRUE(contains(out.str(), "| cuBLAS 12.0.1<br>cuBLAS 13.1.0 |")) << out.str();
  EXPECT_TRUE(contains(out.str(), "1 way by 1 call\n")) << out.str();
  print_causes(none, internal, two, table_style::text);
  EXPECT_EQ(
      none.str(),
      "no call of a fault arm with a working control returned CUBLAS_STATUS_INTERNAL_ERROR in 2 records\n");
}

TEST(cause_table, leaves_out_cases_whose_control_is_unresolved) {
  std::array one{example()};
  one[0].cases[0].arms[0].judged = verdict::unresolved;
  std::ostringstream out;
  print_causes(out, no_memory, one, table_style::text);
  EXPECT_TRUE(contains(out.str(), "returned CUBLAS_STATUS_ALLOC_FAILED in 1 record\n")) << out.str();
}

}  // namespace
}  // namespace cufault
