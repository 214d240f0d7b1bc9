// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/matrix.hpp"

#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/printers/causes.hpp"
#include "reports/printers/table.hpp"
#include "reports/printers/tests/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<stack_matrix> example_matrices() {
  return matrix_of(std::vector{matrix_record(example_cases())});
}

std::string printed_matrix(const std::vector<stack_matrix>& all, const matrix_layout& layout) {
  std::ostringstream out;
  print_matrix(out, all, layout);
  return out.str();
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(matrix_table, is_what_it_was) {
  expect_golden("matrix.txt", printed_matrix(example_matrices(), {.width = 80}));
  expect_golden("matrix.md", printed_matrix(example_matrices(), {.style = table_style::markdown}));
  expect_golden("matrix_remedies.txt",
                printed_matrix(filtered(example_matrices(), {.remedy = "*"}), {.width = 80}));
  expect_golden("matrix_operation.txt",
                printed_matrix(filtered(example_matrices(), {.operation = "sgemm_64"}),
                               {.width = 80, .along = axis::fault}));
}

TEST(matrix_data, is_what_it_was) {
  std::ostringstream csv;
  print_matrix_csv(csv, example_matrices());
  expect_golden("matrix.csv", csv.str());
  expect_golden("matrix.json", matrix_json(example_matrices(), axis::operation).dump(1) + "\n");
}

TEST(matrix_table, keeps_to_the_width_of_the_terminal) {
  for (const std::size_t width : {60, 80, 100, 200}) {
    std::string text = printed_matrix(example_matrices(), {.width = width});
    text.erase(text.rfind("To observe a cell again"));  // a command is not broken
    EXPECT_LE(widest_line(text), width);
  }
}

TEST(matrix_table, makes_rows_and_columns_that_are_alike_one) {
  std::vector<arm_result> arms{matrix_control()};
  for (const char* operation : {"a", "b", "c"})
    for (const char* state : {"cold", "warm"})
      for (const char* timing : {"arrived", "synchronised"})
        arms.push_back(
            cell_arm(std::string(operation) + "." + state + "." + timing,
                     {made({call("cublasSgemm", *operation == 'c' && *state == 'w' ? internal : right)})}));
  const auto text =
      printed_matrix(matrix_of(std::vector{matrix_record({{.name = "matrix.f", .arms = arms}})}), {});
  EXPECT_THAT(text, HasSubstr("operation  2 operations: a, b  c\n"
                              "cold (2)   SUCCESS             SUCCESS\n"
                              "warm (2)   SUCCESS             INTERNAL_ERROR\n"));
}

TEST(matrix_table, marks_what_is_made_up) {
  auto cases = example_cases();
  EXPECT_THAT(printed_matrix(example_matrices(), {}), Not(HasSubstr("made up")));
  for (arm_result& a : cases[0].arms) a.made_up = true;
  const auto text = printed_matrix(matrix_of(std::vector{matrix_record(cases)}), {});
  EXPECT_THAT(text, HasSubstr("kernel_trap (made up): 13 cells"));
  EXPECT_THAT(text, HasSubstr("full_device: 10 cells"));
}

TEST(matrix_data, quotes_fields) {
  auto cases = example_cases();
  cases[0].arms = {cell_arm("sgemm_64.cold", {not_provoked("one, \"two\"\nthree")})};
  std::ostringstream csv;
  print_matrix_csv(csv, matrix_of(std::vector{matrix_record({cases[0]})}));
  EXPECT_THAT(csv.str(), HasSubstr(",\"not provoked: one, \"\"two\"\"\nthree\","));
}

// ---- stacks ----

std::vector<stack_matrix> two_stacks() {
  auto newer = example_cases();
  for (case_result& c : newer)
    for (arm_result& a : c.arms) {
      if (a.name == "sgemm_64.warm.arrived") a.trials[0].calls[0].what.status = internal;
      if (a.name == "cublas_create.cold.0") a.trials = {not_provoked("it has no such level")};
      if (a.name == "sgemm_64.cold.racing") a.trials.pop_back();  // the same outcomes, at other rates
    }
  return matrix_of(std::vector{matrix_record(example_cases()), matrix_record(newer, "13.10.0"),
                               matrix_record(newer, "13.10.0", "NVIDIA H100")});
}

TEST(matrix_by_stacks, shows_only_what_differs) {
  const auto c = compare_stacks(two_stacks(), {"cublas"});
  EXPECT_THAT(c.groups, ElementsAre("cublas 13.1.0", "cublas 13.10.0"));
  ASSERT_THAT(c.differing, SizeIs(1));
  EXPECT_EQ(name_of(c.differing[0].cell), "kernel_trap/sgemm_64.warm.arrived");
  EXPECT_THAT(c.differing[0].shown, ElementsAre("EXECUTION_FAILED", "INTERNAL_ERROR"));
  EXPECT_EQ(c.not_in_all, 2U) << "one was provoked on neither";
  EXPECT_EQ(c.equal, 32U);
  std::ostringstream out;
  print_comparison(out, c, {});
  EXPECT_EQ(out.str(),
            "cells                                 cublas 13.1.0     cublas 13.10.0\n"
            "kernel_trap; sgemm_64; warm; arrived  EXECUTION_FAILED  INTERNAL_ERROR\n"
            "\n"
            "1 cell different, 32 equal, 2 not observed in all\n");
  std::size_t left = 0;
  for (const stack_matrix& m : differing_cells(two_stacks(), c)) left += m.cells.size();
  EXPECT_EQ(left, 3U) << "on each stack";
}

TEST(matrix_by_stacks, has_a_group_for_each_combination) {
  EXPECT_THAT(compare_stacks(two_stacks(), {"cublas", "gpu"}).groups, SizeIs(3));
  const auto c = compare_stacks(two_stacks(), {"gpu"});
  EXPECT_THAT(c.groups, ElementsAre("gpu NVIDIA H100", "gpu NVIDIA H200"));
  ASSERT_THAT(c.differing, SizeIs(1));
  EXPECT_THAT(c.differing[0].shown, ElementsAre("INTERNAL_ERROR", "EXECUTION_FAILED or INTERNAL_ERROR"));
}

// ---- causes ----

std::string causes_of(const std::string& status, const std::vector<record>& records) {
  std::ostringstream out;
  print_causes(out, status, records, table_style::text);
  return out.str();
}

TEST(causes, have_the_cells_of_the_matrix_with_their_conditions) {
  const auto text = causes_of(internal, {matrix_record(example_cases())});
  EXPECT_THAT(text, HasSubstr("matrix.kernel_trap  5 of 13  where workspace used: 4 cells "
                              "and: sgemm_64.cold.racing"));
  EXPECT_THAT(text, Not(HasSubstr("sgemm_split_k.cold.arrived  "))) << "no arm a line";
  EXPECT_THAT(text, Not(HasSubstr("full_device")));
}

TEST(causes, put_what_is_natural_first) {
  auto cases = example_cases();
  case_result injected = cases[0];
  injected.name = "matrix.a_made_up_one";
  for (arm_result& a : injected.arms) a.made_up = true;
  case_result arms{.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({internal})}, "z")}};
  case_result stand_in{.name = "environment.driver",
                       .arms = {arm(arm_kind::fault, {trial({internal})}, "a")}};
  stand_in.arms[0].made_up = true;
  stand_in.arms[0].summary = "a stand-in";
  const auto text = causes_of(internal, {matrix_record({injected, cases[0], stand_in, arms})});
  const auto at = [&](const char* what) { return text.find(what); };
  EXPECT_LT(at("matrix.kernel_trap"), at("made up: matrix.a_made_up_one"));
  EXPECT_LT(at("memory.leak/z"), at("environment.driver/a"));
  EXPECT_THAT(text, HasSubstr("made up: a stand-in"));
}

}  // namespace
}  // namespace cufault
