// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claims.hpp"

#include "reports/base/lines.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

/// What claims.txt says, line by line: a claim; a stack, which begins a record; arms of it; and that these judge the claim.
class told_claims {
 public:
  /// What is to stand below the line.
  std::string take(std::string_view line) {
    const auto blank = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, blank), rest = line.substr(std::min(blank + 1, line.size()));
    if (word == "claim") return take_claim(rest);
    if (word == "stack") *records_.emplace_back().stack = {{"keys", {{"cublas", rest}}}};
    if (word == "arm") {
      if (records_.empty()) take("stack 13.1.0");
      case_result c = arm_from(cursor(rest));
      case_in(records_.back().cases, c.name).arms.push_back(std::move(c.arms[0]));
    }
    return word == "judge" ? judged() : std::string();
  }

 private:
  std::string take_claim(std::string_view said) try {
    claims_ = claims_from(cursor(fmt::format(
        R"({{"schema": 2, "documents": [{{"id": "S0", "title": "t", "claims": [{}]}}]}})", said)));
    return {};
  } catch (const input_error& e) {
    return fmt::format("  refused: {}\n", e.what());
  }

  std::string judged() {
    for (record& r : records_)
      for (case_result& c : r.cases) judge(c, {}, keys_of(r));
    const cost_notes costs{{"cuBLAS 13.1.0", {{"trim", "costs 3.0 %"}}}};
    const claim_verdict v = judge_claims(claims_, std::exchange(records_, {}), costs).at(0);
    std::string text = fmt::format("  {}\n", v.verdict);
    each_line(v.arms, [&](std::string_view line, int, bool) { text += fmt::format("    {}\n", line); });
    for (const claim_evidence& e : v.evidence) text += fmt::format("      {}: {}\n", e.arm, e.why);
    return text;
  }

  std::vector<claim> claims_{};
  std::vector<record> records_{};
};

TEST(claims, are_judged_as_is_written_below_them) {
  told_claims all;
  std::string now;
  each_line(text_in(CUFAULT_TOLD_CLAIMS), [&](std::string_view line, int, bool) {
    if (!line.starts_with("  ")) now += fmt::format("{}\n{}", line, all.take(line));
  });
  expect_golden(CUFAULT_TOLD_CLAIMS, now);
}

TEST(claims_file, of_another_schema_is_refused) {
  EXPECT_EQ(refusal([] { return claims_from(cursor("{\"schema\": 9}")); }),
            "x.json:1: schema: schema 9, but this build reads 2 only");
}

TEST(claims_file, of_this_project_holds_the_whole_ledger) {
  const auto claims = load_claims(CUFAULT_CLAIMS_FILE);
  std::map<std::string, int> of_document;
  std::map<std::string, claim> by_id;
  for (const auto& c : claims) {
    ++of_document[c.id.substr(0, 2)];
    by_id[c.id] = c;
    EXPECT_FALSE(c.text.empty()) << c.id;
  }
  EXPECT_EQ(of_document, (std::map<std::string, int>{{"S0", 17}, {"S1", 16}, {"S2", 14}, {"S3", 17}}));
  EXPECT_EQ(by_id["S0-1"].status, "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_EQ(by_id["S2-1"].call, "cublasLtMatmulAlgoGetHeuristic");
  const auto untestable = std::ranges::count_if(claims, [](const claim& c) { return !c.untestable.empty(); });
  EXPECT_EQ(untestable, 5);
  for (const auto* id : {"S0-15", "S0-17", "S1-2", "S2-6", "S2-14"})
    EXPECT_FALSE(by_id[id].untestable.empty()) << id;
}

}  // namespace
}  // namespace cufault
