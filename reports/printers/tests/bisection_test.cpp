// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/bisection.hpp"

#include "reports/printers/tests/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Made up.
bisection_report made_up_bisection() {
  bisection_report r;
  r.cufault = "1.0.0 (0123456789ab)";
  r.what = "./program --size 64";
  r.from = "the package index";
  r.gpu = "NVIDIA H200";
  r.driver = "580.1";
  r.runtime = "13.0";
  r.error = 0.01;
  r.releases = {{"1.0.0.1", "1.0.0", "0a1b", "good", {{"exit 0", 9}}, "", 4.5},
                {"1.1.0.2", "1.1.0", "", "other", {{"SIGSEGV", 4}, {"exit 0", 1}}, "", 2},
                {"1.2.0.3", "1.2.0", "2c3d", "bad", {{"exit 3", 6}}, "", 3},
                {"1.3.0.4", "", "", "skipped", {}, "the control failed: exit 1; a | b", 0.5},
                {"1.4.0.5", "1.4.0", "4e5f", "good", {{"exit 0", 6}}, "", 3}};
  r.changes = {{false, "1.0.0.1", "1.2.0.3", {"1.1.0.2"}, 2}, {true, "1.4.0.5", "1.3.1.1", {}, 3}};
  r.repeat = "cufault bisect --good 1.0.0.1 --bad 1.2.0.3 --good 1.4.0.5 -- ./program --size 64";
  return r;
}

std::string bisection_as(const bisection_report& report, table_style style) {
  std::ostringstream out;
  print_bisection(out, report, style);
  return out.str();
}

TEST(print_bisection, is_what_the_golden_files_show) {
  expect_golden("bisection.txt", bisection_as(made_up_bisection(), table_style::text));
  expect_golden("bisection.md", bisection_as(made_up_bisection(), table_style::markdown));
  expect_golden("bisection.json", to_json(made_up_bisection()).dump(2) + "\n");
}

TEST(print_bisection, states_no_error_where_one_run_decides) {
  bisection_report report = made_up_bisection();
  report.once = true;
  EXPECT_THAT(bisection_as(report, table_style::text), HasSubstr("One run decides a release (--once)"));
  report.is_arm = true;
  const std::string text = bisection_as(report, table_style::text);
  EXPECT_THAT(text, HasSubstr("does not vary"));
  EXPECT_THAT(text, Not(HasSubstr("probability")));
  const auto json = to_json(report);
  EXPECT_TRUE(json["error"].is_null());
  EXPECT_FALSE(json["changes"][0].contains("error"));
  EXPECT_EQ(json["arm"], report.what);
}

}  // namespace
}  // namespace cufault
