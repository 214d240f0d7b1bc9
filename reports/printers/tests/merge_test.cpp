// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/merge.hpp"

#include "reports/printers/tests/record_example.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;

merged_records example_of_three() {
  merging all;
  for (const auto* name : {"hostA", "hostB", "hostC"}) {
    auto r = example_record();
    r.started = name;
    r.cases[0].arms.pop_back();
    r.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory}), trial({internal})}, "race"));
    r.cases[0].arms.back().races = "chance";
    if (r.started == "hostB") {
      r.cases[0].arms[1].trials = {trial({internal})};
      (*r.stack)["keys"]["driver"] = "590";
    }
    all.add(name, r);
  }
  return all.result();
}

std::string printed_merge(table_style style) {
  std::ostringstream out;
  print_merged(out, example_of_three(), style);
  return out.str();
}

TEST(merged_table, names_records_stacks_outliers_and_rates) {
  EXPECT_EQ(
      printed_merge(table_style::text),
      "\n"
      "Records:\n"
      "record  arms observed  outlier of  stack\n"
      "hostA   3              0           cuBLAS 13.1.0\n"
      "hostB   3              1           cuBLAS 13.1.0, driver 590\n"
      "hostC   3              0           cuBLAS 13.1.0\n"
      "\n"
      "What differs between the stacks:\n"
      "of the stack  value    records\n"
      "driver        590      hostB\n"
      "driver        unknown  hostA, hostC\n"
      "\n"
      "Outliers: how they differ from most.\n"
      "  memory.leak/fault: hostB (1 of 3) CHANGED: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR\n"
      "\n"
      "Arms that race, all trials together:\n"
      "arm               records  rates\n"
      "memory.leak/race  3        3 of 6 trials: cublasCreate: ALLOC_FAILED; context usable | "
      "3 of 6 trials: cublasCreate: INTERNAL_ERROR; context usable\n"
      "3 arms of 3 records: 2 agree, 1 with outliers, 0 without a majority, 0 observed in one record only\n");
}

TEST(merged_table, is_a_page_in_markdown) {
  const auto text = printed_merge(table_style::markdown);
  EXPECT_TRUE(
      text.starts_with("## cufault merge\n\n\n### Records\n\n| record | arms observed | outlier of | stack "
                       "|\n| --- | --- | --- | --- |\n| hostA | 3 | 0 | cuBLAS 13.1.0 |\n"))
      << text;
}

TEST(merged_table, is_json_with_all_arms) {
  const auto j = to_json(example_of_three());
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["exit_code"], 1);
  ASSERT_EQ(j["arms"].size(), 3U);
  EXPECT_EQ(j["arms"][1]["arm"], "fault");
  EXPECT_EQ(j["arms"][1]["outliers"], nlohmann::json({1}));
  EXPECT_EQ(j["arms"][1]["how"], nlohmann::json({"CHANGED: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR"}));
  EXPECT_EQ(j["stacks"]["driver"]["590"], nlohmann::json({1}));
}

}  // namespace
}  // namespace cufault
