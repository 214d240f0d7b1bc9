// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/tests/prometheus_grammar.hpp"
#include "reports/printers/printers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cufault {
namespace {

TEST(run_metrics, count_arms_by_verdict_and_keep_to_the_format) {
  report all;
  run_report& report = all.stacks.emplace_back().run;
  report.stack = "cuBLAS 13.1.0, \"a GPU\"";
  report.complete = true;
  report.exit_code = 1;
  report.start_ms = 1764316800250;
  for (const verdict v : {verdict::ok, verdict::ok, verdict::changed}) report.arms.emplace_back().judged = v;
  const std::string text = print_as("prometheus", all);
  EXPECT_EQ(examples::wrong_in_prometheus(text), "") << text;
  for (const char* line : {R"(_exit_code{stack="cuBLAS 13.1.0, \"a GPU\""} 1)",
                           R"(_arms{stack="cuBLAS 13.1.0, \"a GPU\"",verdict="OK"} 2)",
                           R"(_arms{stack="cuBLAS 13.1.0, \"a GPU\"",verdict="CHANGED"} 1)",
                           R"(verdict="WORSENED"} 0)", R"(_complete{stack="cuBLAS 13.1.0, \"a GPU\""} 1)",
                           R"(_start_time_seconds{stack="cuBLAS 13.1.0, \"a GPU\""} 1764316800.25)"})
    EXPECT_THAT(text, testing::HasSubstr(std::string(line) + "\n"));
}

}  // namespace
}  // namespace cufault
