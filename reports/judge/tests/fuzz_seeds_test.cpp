// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

const std::filesystem::path corpus{CUFAULT_CORPUS};

// A seed that no reader takes would leave the fuzzer at the door.
TEST(fuzz_seeds, are_what_the_readers_accept) {
  const auto whole = load_record(corpus / "record.jsonl");
  EXPECT_TRUE(whole.complete);
  ASSERT_EQ(whole.cases.size(), 2U);
  EXPECT_EQ(whole.cases[0].arms.at(0).trials.at(0).calls.size(), 3U);
  EXPECT_EQ(whole.cases[1].arms.at(0).trials.size(), 2U);
  const auto killed = load_record(corpus / "killed.jsonl");
  EXPECT_FALSE(killed.complete);
  EXPECT_EQ(killed.cases.at(0).arms.size(), 1U);
  const auto matrix = load_record(corpus / "matrix.jsonl");
  EXPECT_EQ(matrix.cases.at(0).arms.size(), 4U);
  for (const arm_result& a : matrix.cases[0].arms)
    EXPECT_EQ(a.kind == arm_kind::control, !cell_named(a.name)) << a.name;
  EXPECT_EQ(claims_from(json_cursor{read_json(corpus / "claims.json")}).size(), 2U);
  EXPECT_EQ(load_allowances(corpus / "allowances.json").size(), 1U);
  EXPECT_EQ(failures_from(json_cursor{read_json(corpus / "failures.json")}).size(), 2U);

  std::vector<case_result> filed;
  each_line(read_text(corpus / "stack.jsonl"), [&](std::string_view line, int number, bool /*whole*/) {
    filed.push_back(filed_arm_from(json_cursor{parse_json("stack.jsonl", line, number)}, {{}, {}}));
  });
  ASSERT_EQ(filed.size(), 3U);
  EXPECT_TRUE(filed[0].arms.at(0).expected);
  EXPECT_EQ(filed[1].arms.at(0).runs.size(), 2U);
}

// A key that no seed has is one that the fuzzer hardly ever finds.
TEST(fuzz_seeds, hold_every_key_that_a_record_can_have) {
  const std::string text = read_text(corpus / "record.jsonl") + read_text(corpus / "stack.jsonl");
  for (const auto* key :
       {"kind",    "level",   "refined",    "ended",         "why",      "exit_code",
        "signal",  "applied", "context",    "calls",         "after",    "memory",
        "notes",   "log",     "stdout",     "stderr",        "ms",       "measurements",
        "api",     "variant", "status",     "numbers",       "ok",       "facts",
        "swept",   "case",    "last_error", "second_cublas", "arm",      "any_architecture",
        "run",     "summary", "claims",     "against",       "races",    "rate_depends_on_load",
        "made_up", "runs",    "trials",     "version",       "commit",   "injected",
        "dirty",   "argv",    "started",    "mode",          "seed",     "stack",
        "saw",     "at",      "free",       "total",         "expected", "unit"})
    EXPECT_NE(text.find("\"" + std::string(key) + "\":"), std::string::npos) << key;
}

}  // namespace
}  // namespace cufault
