// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The table of verdicts where it is brief, as in a terminal. Else: reports/answers/tests/shown.txt.
#include "reports/printers/render.hpp"

#include "reports/model/tests/examples.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;

TEST(verdict_table, in_brief_counts_by_case_what_is_as_expected_where_that_is_much) {
  record r;
  r.complete = true;
  const auto add = [&](const char* case_name, std::string name, verdict v) {
    case_in(r.cases, case_name).arms.push_back(arm(arm_kind::fault, {trial({success})}, std::move(name)));
    r.cases.back().arms.back().judged = v;
  };
  const auto table = [&](bool brief) {
    std::ostringstream out;
    print_verdicts(out, r, table_style::text, {}, brief);
    return out.str();
  };
  add("memory.leak", "control", verdict::ok);
  add("memory.leak", "trim", verdict::worsened);
  EXPECT_EQ(table(true), table(false)) << "little";
  for (int i = 0; i < 20; ++i) add("memory.many", fmt::format("arm_{}", i), verdict::ok);
  EXPECT_THAT(table(true),
              testing::StartsWith("  memory.leak: 1 OK\n  memory.many: 20 OK\n\n"
                                  "Only arms that are red are listed; CASE or CASE/ARM lists others.\n\n"
                                  "case         arm   kind   verdict   what was seen\n"
                                  "memory.leak  trim  fault  WORSENED  "));
  EXPECT_THAT(table(true), testing::Not(testing::HasSubstr("arm_7")));
  EXPECT_THAT(table(true), testing::EndsWith("\n22 arms: 1 WORSENED, 21 OK\n"));
}

}  // namespace
}  // namespace cufault
