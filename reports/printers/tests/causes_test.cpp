// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/causes.hpp"

#include "reports/explain/evidence.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/printers/tests/record_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;

std::string causes(const std::string& status, const record& r, table_style style = table_style::markdown) {
  std::ostringstream out;
  print_causes(out, status, std::array{r}, style);
  return out.str();
}

TEST(cause_table, names_each_arm_whose_call_returned_the_status) {
  std::array two{example_record(), example_record()};
  *two[1].stack = {{"keys", {{"cublas", "12.0.1"}}}};
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

TEST(cause_table, counts_api_functions_whatever_their_variants) {
  std::array one{example_record()};
  auto& trials = one[0].cases[0].arms[1].trials;
  trials = {trial({no_memory, no_memory})};
  trials[0].calls[0].what.name.variant = "first";
  trials[0].calls[1].what.name.variant = "second";
  std::ostringstream out;
  print_causes(out, no_memory, one, table_style::text);
  EXPECT_TRUE(contains(out.str(), "1 way by 1 call\n")) << out.str();
}

TEST(cause_table, names_refined_levels_too) {
  std::array one{example_record()};
  one[0].cases[0].arms[1].trials = {at_level(602, trial({success})), refined_at(603, trial({internal}))};
  std::ostringstream out;
  print_causes(out, internal, one, table_style::markdown);
  EXPECT_TRUE(contains(out.str(), "| cublasCreate | memory.leak/fault |")) << out.str();
}

TEST(cause_table, leaves_out_cases_whose_control_is_unresolved) {
  std::array one{example_record()};
  one[0].cases[0].arms[0].judged = verdict::unresolved;
  std::ostringstream out;
  print_causes(out, no_memory, one, table_style::text);
  EXPECT_TRUE(contains(out.str(), "returned CUBLAS_STATUS_ALLOC_FAILED in 1 record\n")) << out.str();
}

TEST(cause_table, says_what_cleared_the_status_and_what_did_not) {
  record r = example_record();
  r.cases[0].arms.resize(2);
  r.cases[0].arms.push_back(
      judged(arm_kind::remedy, "trim", verdict::cleared, {trial({no_memory}, {right})}));
  r.cases[0].arms.push_back(
      judged(arm_kind::dead_end, "retry", verdict::still_fails, {trial({no_memory}, {no_memory})}));
  EXPECT_THAT(causes(no_memory, r),
              HasSubstr("| empty the pool | memory.leak/trim | cublasCreate | cleared |\n"
                        "| empty the pool | memory.leak/retry | cublasCreate | not cleared |\n"));
  EXPECT_THAT(causes(internal, r), Not(HasSubstr("empty the pool")));
}

TEST(cause_table, lists_natural_faults_and_remedies_before_made_up_ones_and_what_they_cost) {
  record r = example_record();
  arm_result natural = r.cases[0].arms[1], stand_in = natural;
  natural.summary = "a full device";
  stand_in.name = "a_stand_in";  // before the other by its name
  stand_in.summary = "a stand-in driver";
  arm_result trim = judged(arm_kind::remedy, "trim", verdict::cleared, {trial({no_memory}, {right})});
  arm_result made_up_trim = trim;
  made_up_trim.name = "a_made_up_trim";
  stand_in.made_up = made_up_trim.made_up = true;
  r.cases[0].arms = {r.cases[0].arms[0], stand_in, natural, made_up_trim, trim};
  std::ostringstream out;
  print_causes(out, no_memory, std::array{r}, table_style::markdown,
               {{stack_label(r), {{"trim", "costs 3.0 %; 64 MiB"}}}});
  EXPECT_THAT(out.str(),
              HasSubstr("| cublasCreate | memory.leak/fault | a full device |\n"
                        "| cublasCreate | memory.leak/a_stand_in | made up: a stand-in driver |\n"));
  EXPECT_THAT(
      out.str(),
      HasSubstr("| empty the pool | memory.leak/trim | cublasCreate | cleared; costs 3.0 %; 64 MiB |\n"
                "| made up: empty the pool | memory.leak/a_made_up_trim | cublasCreate | cleared |\n"));
}

TEST(cause_table, is_for_programs_what_it_is_for_people) {
  record r = example_record();
  r.cases[0].arms.resize(2);
  r.cases[0].arms[1].made_up = true;
  r.cases[0].arms.push_back(
      judged(arm_kind::remedy, "trim", verdict::cleared, {trial({no_memory}, {right})}));
  const auto json =
      to_json(tables_of_causes(no_memory, std::array{r}, {{stack_label(r), {{"trim", "costs 3.0 %"}}}}));
  const nlohmann::json arm{{"call", "cublasCreate"},
                           {"arm", "memory.leak/fault"},
                           {"summary", r.cases[0].arms[1].summary},
                           {"made_up", true},
                           {"stacks", {"cuBLAS 13.1.0"}}};
  EXPECT_EQ(nlohmann::json(json["arms"]), nlohmann::json::array({arm}));
  const nlohmann::json remedy{{"remedy", "empty the pool"}, {"made_up", false}, {"arm", "memory.leak/trim"},
                              {"calls", {"cublasCreate"}},  {"cleared", true},  {"costs", {"costs 3.0 %"}},
                              {"stacks", {"cuBLAS 13.1.0"}}};
  EXPECT_EQ(nlohmann::json(json["remedies"]), nlohmann::json::array({remedy}));
}

TEST(cause_table, says_a_stack_once_where_it_is_the_only_one) {
  const std::string one = causes(no_memory, example_record());
  EXPECT_TRUE(one.starts_with("On cuBLAS 13.1.0:\n\n| call | arm | what it does |\n")) << one;
  EXPECT_EQ(one.find("13.1.0"), one.rfind("13.1.0")) << one;
}

TEST(cause_table, says_what_avoided_the_status) {
  record r = example_record();
  arm_result& lazy = r.cases[0].arms[2];
  lazy = judged(arm_kind::remedy, "lazy", verdict::cleared, {trial({success})});
  lazy.summary = "lazy loading";
  lazy.against = "fault";
  EXPECT_THAT(causes(no_memory, r),
              HasSubstr("| lazy loading | memory.leak/lazy | cublasCreate | cleared |\n"));
  lazy.against = "another";
  EXPECT_THAT(causes(no_memory, r), Not(HasSubstr("lazy loading")));
}

TEST(cause_table, takes_wrong_numbers_for_a_status) {
  record r = example_record();
  r.cases[0].arms[1].trials = {trial({wrong})};
  EXPECT_THAT(causes(status_wrong_numbers, r), HasSubstr("| cublasCreate | memory.leak/fault |"));
  r.cases[0].arms[1].trials = {trial({right})};
  EXPECT_THAT(causes(status_wrong_numbers, r), HasSubstr("returned WRONG_NUMBERS in 1 record\n"));
}

// ---- cells of the matrix ----

TEST(cause_table, has_the_cells_of_the_matrix_with_their_conditions) {
  const auto text = causes(internal, matrix_record(example_cases()), table_style::text);
  EXPECT_THAT(text, HasSubstr("matrix.kernel_trap  5 of 13  where workspace used: 4 cells "
                              "and: sgemm_64.cold.racing"));
  EXPECT_THAT(text, Not(HasSubstr("sgemm_split_k.cold.arrived  "))) << "no arm a line";
  EXPECT_THAT(text, Not(HasSubstr("full_device")));
}

TEST(cause_table, puts_what_is_natural_first) {
  auto cases = example_cases();
  case_result injected = cases[0];
  injected.name = "matrix.a_made_up_one";
  for (arm_result& a : injected.arms) a.made_up = true;
  case_result arms{.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({internal})}, "z")}};
  case_result stand_in{.name = "environment.driver",
                       .arms = {arm(arm_kind::fault, {trial({internal})}, "a")}};
  stand_in.arms[0].made_up = true;
  stand_in.arms[0].summary = "a stand-in";
  const auto text = causes(internal, matrix_record({injected, cases[0], stand_in, arms}), table_style::text);
  const auto at = [&](const char* what) { return text.find(what); };
  EXPECT_LT(at("matrix.kernel_trap"), at("made up: matrix.a_made_up_one"));
  EXPECT_LT(at("memory.leak/z"), at("environment.driver/a"));
  EXPECT_THAT(text, HasSubstr("made up: a stand-in"));
}

}  // namespace
}  // namespace cufault
