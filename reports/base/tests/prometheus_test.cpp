// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/prometheus.hpp"

#include "reports/base/tests/prometheus_grammar.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

using examples::wrong_in_prometheus;

TEST(prometheus_pages, have_help_type_and_escaped_labels) {
  prometheus_text page;
  page.family("cufault_a", "Two\nlines, a \\ and a \"quote\".");
  page.sample(1);
  page.sample(0.5, {{"name", "a \\ \"b\"\nc"}, {"other", ""}});
  page.family("cufault_b", "Time.");
  page.sample(1764316800);
  EXPECT_EQ(page.text(),
            "# HELP cufault_a Two\\nlines, a \\\\ and a \"quote\".\n"
            "# TYPE cufault_a gauge\n"
            "cufault_a 1\n"
            "cufault_a{name=\"a \\\\ \\\"b\\\"\\nc\",other=\"\"} 0.5\n"
            "# HELP cufault_b Time.\n"
            "# TYPE cufault_b gauge\n"
            "cufault_b 1764316800\n");
  EXPECT_EQ(wrong_in_prometheus(page.text()), "");
}

TEST(prometheus_grammar, finds_what_a_collector_refuses) {
  const std::string head = "# HELP a b\n# TYPE a gauge\n";
  EXPECT_EQ(wrong_in_prometheus(head + "a{l=\"\"} 1e+09\n"), "");
  for (const char* wrong :
       {"a 1", "a\n", "a one\n", "a{l=\"x\"y\"} 1\n", "a{l=\"\\x\"} 1\n", "a{1=\"x\"} 1\n", "a{l='x'} 1\n",
        "a 1\na 1\n", "b 1\n", "# HELP a b\n", "# TYPE b gauge\n", "a {l=\"x\"} 1\n", "\n"})
    EXPECT_NE(wrong_in_prometheus(head + wrong), "") << wrong;
}

}  // namespace
}  // namespace cufault
