// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault cost` as a program: what it reads, prints and refuses. Needs no CUDA.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/model/tests/cost_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class cost_command : public testing::Test {
 protected:
  void write(const std::string& text) const { write_whole(folder / cost_file, text); }

  [[nodiscard]] process_result cost(std::vector<std::string> words) const {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "cost", folder};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = {{"COLUMNS", "90"}};
    options.keep_output = 4u << 20;
    return run_process(options, {});
  }
  void expect_refusal(const std::vector<std::string>& words, const std::string& part) const {
    const auto seen = cost(words);
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_THAT(seen.stderr_text, StartsWith("cufault: "));
    EXPECT_THAT(seen.stderr_text, HasSubstr(part));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
    EXPECT_EQ(seen.stdout_text, "");
  }
  const temporary_folder made{"cufault-cost-"};
  const fs::path folder = made.path();
};

TEST_F(cost_command, without_a_record_says_how_to_measure) {
  const auto seen = cost({});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_THAT(seen.stdout_text, StartsWith("Not measured yet"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("remedy_cost --out cost.jsonl"));
  EXPECT_EQ(seen.stderr_text, "");
  EXPECT_THAT(cost({"--format", "svg"}).stdout_text, HasSubstr("not measured yet"));
}

TEST_F(cost_command, prints_in_each_format) {
  write(examples::cost_record_text(examples::costs()));
  EXPECT_THAT(cost({}).stdout_text, HasSubstr("own_workspace"));
  EXPECT_THAT(cost({"--format", "markdown"}).stdout_text, HasSubstr("| own_workspace | "));
  EXPECT_THAT(cost({"--format", "csv"}).stdout_text, StartsWith("stack,started,work,remedy,"));
  EXPECT_THAT(cost({"--format", "svg"}).stdout_text, StartsWith("<svg "));
  EXPECT_EQ(nlohmann::json::parse(cost({"--format", "json"}).stdout_text)["schema"], 1);
  EXPECT_THAT(cost({"--remedy", "new_*", "--format", "markdown"}).stdout_text,
              HasSubstr("| handle.fp16.64x64x64 | new_handle |"));
}

TEST_F(cost_command, marks_a_record_that_was_cut_off) {
  const std::string whole = examples::cost_record_text(examples::costs());
  const std::string cut = whole.substr(0, whole.rfind("\"work\""));
  for (const char* const format : {"text", "markdown", "svg"}) {
    write(whole);
    EXPECT_THAT(cost({"--format", format}).stdout_text, Not(HasSubstr("did not come to its end"))) << format;
    write(cut);
    const auto seen = cost({"--format", format});
    EXPECT_EQ(seen.exit_code, 0);
    EXPECT_THAT(seen.stdout_text, HasSubstr("did not come to its end")) << format;
  }
  EXPECT_EQ(nlohmann::json::parse(cost({"--format", "json"}).stdout_text)["stacks"][0]["complete"], false);
}

TEST_F(cost_command, refuses_in_one_line) {
  write(examples::cost_record_text(examples::costs()));
  expect_refusal({"--remedy", "prayer"},
                 "--remedy prayer: none of these records has it; remedies: new_handle, ");
  expect_refusal({"--format", "pdf"}, "--format");
  for (const double absurd : {-1.0, 0.0, 1e300, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    cost_record r = examples::costs();
    r.comparisons[1].without.milliseconds[0] = absurd;
    write(examples::cost_record_text(r));
    expect_refusal({}, (folder / "cost.jsonl:3: ").string());
  }
  write("{\"cost_schema\":3}\n");
  expect_refusal({}, "cost.jsonl:1: cost_schema: made by a newer cufault");
  write("{}\n");
  expect_refusal({}, "\"cost_schema\" is missing");
}

}  // namespace
}  // namespace cufault
