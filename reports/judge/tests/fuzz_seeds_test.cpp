// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/gate.hpp"
#include "reports/judge/tests/whole_arm.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

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

  const auto expected = expectations_from("expectations.jsonl", read_text(corpus / "expectations.jsonl"));
  ASSERT_EQ(expected.size(), 2U);
  for (const expectation& e : expected) EXPECT_EQ(e.case_name, "memory.leak");

  record stack;
  add_lines(stack, "stack.jsonl", read_text(corpus / "stack.jsonl"));
  ASSERT_EQ(stack.cases.size(), 3U);
  EXPECT_EQ(stack.cases[0].arms.at(0).summary, "s; d");
  EXPECT_EQ(stack.cases[0].arms.at(1).trials.size(), 2U);
  EXPECT_EQ(stack.cases[0].arms.at(2).runs.at(0).commit, "e");
  EXPECT_EQ(stack.cases[0].arms.at(4).name, "equally");
  EXPECT_EQ(stack.cases[2].arms.at(0).summary, "s; d");

  record cells;
  add_lines(cells, "cells.jsonl", read_text(corpus / "cells.jsonl"));
  ASSERT_EQ(cells.cases.at(0).arms.size(), 2U);
  EXPECT_EQ(cells.cases[0].arms[0].trials.at(0).applied, "again, with the same handle");
  EXPECT_EQ(describe(cells.cases[0].arms[1].trials.at(0).calls.at(1).what.name), "cublasSgemm square_64");

  record other, differing;
  add_lines(other, "other", whole_arm);
  add_lines(differing, "differing.jsonl", read_text(corpus / "differing.jsonl"), {},
            [&](const std::string& /*stack*/, const std::string& /*case_name*/, const std::string& /*arm*/) {
              return &other.cases.at(0).arms.at(0);
            });
  EXPECT_EQ(differing.cases.at(0).arms.at(0).summary, other.cases[0].arms[0].summary);
  EXPECT_EQ(differing.cases[0].arms[0].trials.size(), 3U);
  EXPECT_EQ(differing.cases[0].arms[0].trials[0].calls.size(), 2U);
  ASSERT_EQ(differing.cases.at(1).arms.size(), 2U);
  EXPECT_EQ(differing.cases[1].arms[0].trials.at(0).milliseconds, 1.5);
  EXPECT_EQ(differing.cases[1].arms[1].runs.at(0).commit, "abc");
}

// A key that no seed has is one that the fuzzer hardly ever finds.
TEST(fuzz_seeds, hold_every_key_that_a_record_can_have) {
  const std::string text = read_text(corpus / "record.jsonl") + read_text(corpus / "stack.jsonl") +
                           read_text(corpus / "cells.jsonl");
  for (const auto* key :
       {"kind",    "level",   "refined",    "ended",     "why",   "exit_code",  "signal",
        "applied", "context", "calls",      "after",     "times", "memory",     "measurements",
        "notes",   "log",     "stdout",     "stderr",    "ms",    "like",       "step",
        "ok",      "facts",   "last_error", "swept",     "case",  "arm",        "detail",
        "run",     "summary", "claims",     "against",   "races", "injected",   "made_up",
        "runs",    "trials",  "version",    "commit",    "dirty", "argv",       "started",
        "mode",    "seed",    "stack",      "more_runs", "as",    "operations", "texts"})
    EXPECT_NE(text.find("\"" + std::string(key) + "\":"), std::string::npos) << key;
}

}  // namespace
}  // namespace cufault
