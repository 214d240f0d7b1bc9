// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/cost.hpp"

#include "reports/base/json_input.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/model/tests/cost_example.hpp"
#include "reports/printers/matrix.hpp"
#include "reports/printers/tests/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <pugixml.hpp>
#include <sstream>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string table(const cost_record& r, const cost_layout& layout = {.style = table_style::markdown}) {
  std::ostringstream out;
  print_costs(out, std::array{r}, layout);
  return out.str();
}

TEST(print_costs, has_a_line_for_each_remedy) {
  const std::string text = table(examples::costs());
  EXPECT_THAT(text, HasSubstr("### cuBLAS 13.1.0, NVIDIA H200, driver 580.1\n"));
  EXPECT_THAT(
      text, HasSubstr("| own_workspace | own_workspace in words | 2 | +3.0 % to +5.0 % | 0 | 64 MiB |  |\n"));
  EXPECT_THAT(text, HasSubstr("| new_handle | new_handle in words | 1 | 91 times | 0 | 64 MiB |  |\n"));
  EXPECT_THAT(text, HasSubstr("| workspace_0_0 | workspace_0_0 in words | 1 |  | 1 | 64 MiB |  |\n"));
  EXPECT_THAT(text,
              HasSubstr("| pedantic_math | pedantic_math in words | 0 |  | 0 |  | 1 with wrong numbers |\n"));
  EXPECT_THAT(text, HasSubstr("| refused | refused in words | 0 |  | 0 |  | 1 not measured |\n"));
  EXPECT_THAT(text, HasSubstr("- pool.1024: SIGSEGV\n"));
  // 137 Gop/ms is 139 us at the peak, and the example takes a millisecond.
  EXPECT_THAT(text,
              HasSubstr("- workspace.fp16.4096x4096x4096: 14 % of the peak, 1.00 ms and not 138.9 us\n"));
  EXPECT_THAT(text, Not(HasSubstr("Unsteady")));
}

TEST(print_costs, has_each_kind_of_work_where_that_is_asked_for) {
  const std::string text = table(examples::costs(), {.style = table_style::markdown, .all_work = true});
  EXPECT_THAT(text,
              HasSubstr("| workspace.fp16.4096x4096x4096 | own_workspace | 1.00 ms, device | +3.0 % ("));
  EXPECT_THAT(
      text,
      HasSubstr("| workspace.fp16.4096x4096x4096 | workspace_0_0 | 1.00 ms, device | inside the noise: "));
  EXPECT_THAT(text, HasSubstr("| 14 %, slow |"));
  EXPECT_THAT(text, HasSubstr("| not measured: cublasSetWorkspace returned CUBLAS_STATUS_INVALID_VALUE |"));
}

TEST(print_costs, fits_in_the_width_of_a_terminal) {
  std::istringstream lines(table(examples::costs(), {.width = 80, .all_work = true}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("  ") || line.size() <= 80) << line;
  }
}

TEST(print_costs, says_what_takes_away_from_a_record) {
  cost_record r = examples::costs();
  EXPECT_THAT(table(r), Not(HasSubstr("did not come to its end")));
  r.complete = false;
  r.size = "tiny";
  r.comparisons[0].again = examples::times(1.1);
  const std::string text = table(r);
  EXPECT_THAT(text, HasSubstr("did not come to its end"));
  EXPECT_THAT(text, HasSubstr("its figures mean nothing"));
  EXPECT_THAT(text, HasSubstr("Unsteady"));
  const auto csv = [](const cost_record& of) {
    std::ostringstream out;
    print_costs_csv(out, std::array{of});
    return out.str();
  };
  EXPECT_THAT(csv(r), AllOf(HasSubstr(",no\n"), Not(HasSubstr(",yes\n"))));
  EXPECT_THAT(csv(examples::costs()), AllOf(HasSubstr(",yes\n"), Not(HasSubstr(",no\n"))));
  EXPECT_THAT(costs_svg(std::array{r}), HasSubstr("did not come to its end"));
  EXPECT_THAT(costs_svg(std::array{examples::costs()}), Not(HasSubstr("did not come to its end")));
}

/// ci/schemas validates these two files.
TEST(print_costs, and_its_record_are_as_the_schemas_have_them) {
  expect_golden("cost.jsonl", examples::cost_record_text(examples::costs()));
  expect_golden("cost.json", costs_json(std::array{examples::costs()}).dump(1) + "\n");
}

TEST(print_costs, as_csv_and_json_has_all_work) {
  std::ostringstream csv;
  print_costs_csv(csv, std::array{examples::costs()});
  const std::string text = csv.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 6);
  EXPECT_THAT(
      text,
      HasSubstr("\"cuBLAS 13.1.0, NVIDIA H200, driver "
                "580.1\",2026-11-23T06:00:00Z,workspace.fp16.4096x4096x4096,own_workspace,device,9,1,1.03,"));
  const auto json = costs_json(std::array{examples::costs()});
  EXPECT_EQ(json["stacks"][0]["costs"].size(), 6U);
  EXPECT_EQ(json["stacks"][0]["costs"][0]["verdict"], "measured");
  EXPECT_EQ(json["stacks"][0]["costs"][0]["slow"], true);
  EXPECT_EQ(json["stacks"][0]["not_measured"][0]["why"], "SIGSEGV");
}

TEST(print_costs, as_a_picture_is_well_formed) {
  pugi::xml_document drawn;
  ASSERT_TRUE(drawn.load_string(costs_svg(std::array{examples::costs()}).c_str()));
  EXPECT_EQ(drawn.select_nodes("//circle").size(),
            4U);  // nothing for wrong numbers and what was not measured
  ASSERT_TRUE(drawn.load_string(costs_svg({}).c_str()));
  EXPECT_THAT(costs_svg({}), HasSubstr("not measured yet"));
}

TEST(print_costs, of_one_remedy_has_the_work_that_it_was_measured_on) {
  const cost_record one = filtered(examples::costs(), "own_*");
  EXPECT_EQ(one.comparisons.size(), 2U);
  EXPECT_THAT(table(one), Not(HasSubstr("new_handle")));
  EXPECT_TRUE(filtered(examples::costs(), "nothing").comparisons.empty());
}

/// The example's matrix, whose remedies have costs that were measured on its stack.
TEST(print_costs, stand_beside_a_remedy_that_clears) {
  const auto all = matrix_of(std::array{examples::matrix_record(examples::example_cases())});
  ASSERT_FALSE(all.empty());
  const auto printed = [&](const cost_notes& costs) {
    std::ostringstream out;
    print_matrix(out, all, {.style = table_style::markdown}, costs);
    return out.str();
  };
  std::set<std::string> cleared, others;
  for (const observed_cell& c : all[0].cells)
    if (!c.at.remedy.empty()) (c.result == remedy_result::cleared ? cleared : others).insert(c.at.remedy);
  ASSERT_FALSE(cleared.empty());
  const std::string remedy = *cleared.begin();
  EXPECT_THAT(printed({{all[0].stack, {{remedy, "costs 3.0 %; 64 MiB"}}}}),
              HasSubstr("; costs 3.0 %; 64 MiB\n"));
  EXPECT_EQ(printed({{"another stack", {{remedy, "costs 3.0 %; 64 MiB"}}}}), printed({}));
  for (const std::string& other : others) {
    if (cleared.contains(other)) continue;
    EXPECT_EQ(printed({{all[0].stack, {{other, "costs 3.0 %"}}}}), printed({})) << other;
  }
}

}  // namespace
}  // namespace cufault
