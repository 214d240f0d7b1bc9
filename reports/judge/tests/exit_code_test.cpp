// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Exit codes of a run, and the names of verdicts.
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

int run_code(const std::vector<verdict>& verdicts, run_mode mode, int budget = 0, bool covered = true) {
  std::vector<case_result> cases;
  for (const auto v : verdicts) {
    auto a = arm(fault, {});
    a.judged = v;
    a.covered = covered;
    cases.push_back({.name = "c", .arms = {a}});
  }
  return exit_code(exit_reasons(cases, mode, budget));
}

TEST(exit_code, is_0_where_all_went_as_expected) {
  for (const auto v :
       {verdict::ok, verdict::reproduced, verdict::cleared, verdict::still_fails, verdict::flaky,
        verdict::diagnosed, verdict::undefined, verdict::as_predicted, verdict::unrecorded}) {
    EXPECT_EQ(run_code({v}, run_mode::observe), 0) << to_string(v);
    EXPECT_EQ(run_code({v}, run_mode::gate), 0) << to_string(v);
  }
}

TEST(exit_code, is_3_in_gate_mode_where_a_prediction_differs) {
  EXPECT_EQ(run_code({verdict::ok, verdict::differs}, run_mode::observe), 0);
  EXPECT_EQ(run_code({verdict::ok, verdict::differs}, run_mode::gate), exit_no_baseline);
  EXPECT_EQ(run_code({verdict::changed, verdict::differs}, run_mode::gate), 1);
}

TEST(exit_code, is_1_in_gate_mode_only_for_what_was_not_expected) {
  for (const auto v : {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken}) {
    EXPECT_EQ(run_code({verdict::ok, v}, run_mode::observe), 0) << to_string(v);
    EXPECT_EQ(run_code({verdict::ok, v}, run_mode::gate), 1) << to_string(v);
  }
}

TEST(exit_code, is_2_where_an_arm_is_unresolved_whatever_the_others) {
  for (const auto mode : {run_mode::observe, run_mode::gate}) {
    EXPECT_EQ(run_code({verdict::ok, verdict::unresolved}, mode), 2);
    EXPECT_EQ(run_code({verdict::worsened, verdict::unresolved, verdict::not_provoked}, mode), 2);
  }
}

TEST(exit_code, is_2_where_nothing_ran) {
  EXPECT_EQ(run_code({}, run_mode::observe), 2);
  const std::vector<case_result> empty_case(1);
  EXPECT_EQ(exit_code(exit_reasons(empty_case, run_mode::gate, 0)), 2);
}

TEST(exit_code, is_77_where_no_arm_was_provoked) {
  EXPECT_EQ(run_code({verdict::not_provoked, verdict::not_provoked}, run_mode::observe), 77);
  EXPECT_EQ(run_code({verdict::not_provoked, verdict::ok}, run_mode::observe), 0);
  EXPECT_EQ(run_code({verdict::not_provoked}, run_mode::gate, 1), 77);
}

TEST(exit_code, counts_arms_that_were_not_provoked_against_a_budget_in_gate_mode) {
  const std::vector<verdict> two{verdict::not_provoked, verdict::not_provoked, verdict::ok};
  EXPECT_EQ(run_code(two, run_mode::gate, 1), 1);
  EXPECT_EQ(run_code(two, run_mode::gate, 2), 0);
  EXPECT_EQ(run_code(two, run_mode::observe, 1), 0);
  EXPECT_EQ(run_code(two, run_mode::gate, 0, false), 0);  // nobody ever saw them provoked here
}

case_result not_run_for_lack_of_a_gpu() {
  auto a = arm(fault, {not_provoked("no GPU: there is no driver")}, "on_a_gpu");
  a.judged = verdict::not_provoked;
  a.covered = true;
  return {.name = "g", .arms = {a}};
}

TEST(exit_code, takes_a_missing_gpu_for_no_failure_whatever_the_budget) {
  std::vector<case_result> cases{not_run_for_lack_of_a_gpu()};
  EXPECT_EQ(exit_code(exit_reasons(cases, run_mode::gate, 0)), 77);
  auto host = arm(fault, {});
  host.judged = verdict::reproduced;
  cases.push_back({.name = "h", .arms = {host}});
  EXPECT_EQ(exit_code(exit_reasons(cases, run_mode::gate, 0)), 0);
  cases.back().arms[0].judged = verdict::not_provoked;
  cases.back().arms[0].covered = true;
  EXPECT_EQ(exit_code(exit_reasons(cases, run_mode::gate, 0)), 1) << "this one lacks something else";
}

TEST(exit_code, takes_equal_versions_and_a_missing_toolkit_for_no_failure) {
  for (const auto& [why, code] : {std::pair{"no versions differ: driver of CUDA 13.0", 77},
                                  {"no toolkit: no nvcc", 77},
                                  {"no memory", 1}}) {
    auto a = arm(fault, {not_provoked(why)}, "a");
    a.judged = verdict::not_provoked;
    a.covered = true;
    EXPECT_EQ(
        exit_code(exit_reasons(std::vector<case_result>{{.name = "c", .arms = {a}}}, run_mode::gate, 0)),
        code)
        << why;
  }
}

TEST(exit_reasons, name_the_arms_that_they_are_about) {
  std::vector<case_result> cases{not_run_for_lack_of_a_gpu()};
  for (const auto& [name, v] : {std::pair{"a", verdict::changed}, std::pair{"b", verdict::gone},
                                std::pair{"c", verdict::changed}, std::pair{"d", verdict::not_provoked}}) {
    auto one = arm(fault, {}, name);
    one.judged = v;
    one.covered = true;
    cases.push_back({.name = "c", .arms = {one}});
  }
  const auto found = exit_reasons(cases, run_mode::gate, 0);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].why, "2 arms CHANGED");
  EXPECT_EQ(found[0].arms, (std::vector<std::string>{"c/a", "c/c"}));
  EXPECT_EQ(found[1].why, "1 arm GONE");
  EXPECT_EQ(found[2].why, "1 arm recorded on this stack NOT_PROVOKED, and --not-provoked-budget is 0");
  EXPECT_EQ(found[2].arms, (std::vector<std::string>{"c/d"})) << "none that lacks a GPU";
  cases[1].arms[0].judged = verdict::unresolved;
  EXPECT_EQ(exit_reasons(cases, run_mode::gate, 0)[0].why, "1 arm UNRESOLVED") << "the worst is first";
}

TEST(verdict, has_a_name_of_its_own) {
  std::set<std::string> names;
  const std::vector<verdict> all{
      verdict::ok,        verdict::reproduced, verdict::cleared,      verdict::still_fails,
      verdict::diagnosed, verdict::flaky,      verdict::as_predicted, verdict::undefined,
      verdict::changed,   verdict::gone,       verdict::worsened,     verdict::remedy_broken,
      verdict::differs,   verdict::unrecorded, verdict::not_provoked, verdict::unresolved};
  for (const auto v : all) names.insert(to_string(v));
  EXPECT_EQ(names.size(), all.size());
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(verdict::remedy_broken), "REMEDY_BROKEN");
  EXPECT_EQ(to_string(verdict::unrecorded), "NEW");
  EXPECT_EQ(to_string(run_mode::observe), "observe");
  EXPECT_EQ(to_string(run_mode::gate), "gate");
}

}  // namespace
}  // namespace cufault
