// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/failures.hpp"

#include "reports/base/tests/input_examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

std::string failures_refusal(std::string_view failures) {
  const auto text = fmt::format("{{\"schema\": 1, \"failures\": [\n{}]}}", failures);
  return refusal([&] { return failures_from(cursor(text)); });
}

TEST(failures_file, is_read_in_its_order) {
  const auto read = failures_from(cursor(R"({"schema": 1, "failures": [
    {"id": "RN-01", "text": "t", "sources": ["release notes"], "untestable": "a tool's"},
    {"id": "F-MEM-01", "text": "no memory", "sources": ["docs", "pytorch#1"]},
    {"id": "F-STK-06", "text": "too long", "sources": ["docs"], "awaits": "a display"}]})"));
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].id, "RN-01");
  EXPECT_EQ(read[1].text, "no memory");
  EXPECT_EQ(read[1].sources, (std::vector<std::string>{"docs", "pytorch#1"}));
  EXPECT_EQ(read[0].untestable, "a tool's");
  EXPECT_EQ(read[1].untestable + read[1].awaits, "");
  EXPECT_EQ(read[2].awaits, "a display");
}

TEST(failures_file, that_is_malformed_is_refused_by_line_and_field) {
  constexpr auto where = "x.json:2: failures[0]";
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t", "sources": ["docs"]})"),
            "(nothing was refused)");
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "sources": ["docs"]})"),
            fmt::format("{}: \"text\" is missing", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t"})"),
            fmt::format("{}: \"sources\" is missing", where));
  EXPECT_EQ(failures_refusal(R"({"id": "", "text": "t", "sources": ["docs"]})"),
            fmt::format("{}.id: must not be empty", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "a\nb", "sources": ["docs"]})"),
            fmt::format("{}.text: must be one line", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t", "sources": []})"),
            fmt::format("{}.sources: must not be empty", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t", "sources": [""]})"),
            fmt::format("{}.sources[0]: must not be empty", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t", "sources": ["docs"], "awaits": ""})"),
            fmt::format("{}.awaits: must not be empty", where));
  EXPECT_EQ(failures_refusal(
                R"({"id": "F-A-1", "text": "t", "sources": ["docs"], "untestable": "u", "awaits": "a"})"),
            fmt::format("{}.awaits: an untestable failure awaits nothing", where));
  EXPECT_EQ(failures_refusal(R"({"id": "F-A-1", "text": "t", "sources": ["docs"], "note": ""})"),
            fmt::format("{}.note: unknown key", where));
  EXPECT_EQ(failures_refusal("{\"id\": \"F-A-1\", \"text\": \"t\", \"sources\": [\"docs\"]},\n"
                             "{\"id\": \"F-A-1\", \"text\": \"u\", \"sources\": [\"docs\"]}"),
            "x.json:3: failures[1].id: \"F-A-1\" twice");
  EXPECT_EQ(refusal([] { return failures_from(cursor("{\"schema\": 9}")); }),
            "x.json:1: schema: schema 9, but this build reads 1 only");
  EXPECT_EQ(
      refusal([] { return failures_from(cursor(R"({"schema": 1, "failures": [], "documents": []})")); }),
      "x.json:1: documents: unknown key");
}

TEST(failures_file, of_this_project_holds_every_family) {
  std::map<std::string, int> of_family;
  for (const auto& f : load_failures(CUFAULT_FAILURES_FILE)) {
    ++of_family[f.id.substr(0, f.id.rfind('-'))];
    EXPECT_TRUE(std::ranges::all_of(f.text, [](char c) { return c >= ' ' && c <= '~'; })) << f.id;
  }
  EXPECT_EQ(of_family, (std::map<std::string, int>{{"F-ARG", 14},
                                                   {"F-CAP", 10},
                                                   {"F-ENV", 10},
                                                   {"F-HW", 4},
                                                   {"F-LIF", 10},
                                                   {"F-MEM", 11},
                                                   {"F-NS", 15},
                                                   {"F-NUM", 6},
                                                   {"F-STK", 7},
                                                   {"RN", 20}}));
}

}  // namespace
}  // namespace cufault
