// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault matrix` as a program: what it reads, prints and refuses. Needs no CUDA.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class matrix_command : public testing::Test {
 protected:
  void SetUp() override { write("a.jsonl", examples::matrix_record(examples::example_cases())); }

  void write(const char* name, record r) const {
    r.version = r.commit = "test";
    r.complete = true;
    r.exit_code = 0;
    r.ended = r.started;
    write_whole(folder / name, record_text(r));
  }

  [[nodiscard]] process_result matrix(std::vector<std::string> words) const {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "matrix", folder};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = {{"COLUMNS", "90"}};
    options.keep_output = 4u << 20;
    return run_process(options, {});
  }

  void expect_refusal(const std::vector<std::string>& words, const std::string& line) const {
    const auto seen = matrix(words);
    EXPECT_EQ(seen.exit_code, 2) << line;
    EXPECT_THAT(seen.stderr_text, StartsWith("cufault: " + line));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
    EXPECT_EQ(seen.stdout_text, "");
  }

  const temporary_folder made{"cufault-matrix-"};
  const fs::path folder = made.path();
};

TEST_F(matrix_command, prints_a_table_in_the_width_of_the_terminal) {
  const auto seen = matrix({"--fault", "kernel_trap"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("EXECUTION_FAILED where "));
  EXPECT_THAT(seen.stdout_text, Not(HasSubstr("full_device")));
  std::istringstream lines(seen.stdout_text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90U) << line;
}

TEST_F(matrix_command, prints_an_operation_under_every_fault) {
  const auto seen = matrix({"--operation", "sgemm_64"});
  EXPECT_THAT(seen.stdout_text, HasSubstr("sgemm_64: 9 cells"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("where fault full_device"));
}

TEST_F(matrix_command, prints_other_formats) {
  EXPECT_THAT(matrix({"--format", "csv"}).stdout_text, StartsWith("stack,fault,"));
  EXPECT_THAT(matrix({"--format", "markdown"}).stdout_text, StartsWith("### cuBLAS 13.1.0"));
  const auto json = nlohmann::json::parse(matrix({"--format", "json", "--remedy", "own_*"}).stdout_text);
  EXPECT_EQ(json.at("stacks").at(0).at("cells").size(), 4U);
}

TEST_F(matrix_command, compares_stacks) {
  expect_refusal({"--by", "cublas"}, "--by cublas: all these records are alike in that");
  auto cases = examples::example_cases();
  cases[0].arms[1].trials[0].calls[0].what.status = examples::internal;
  write("b.jsonl", examples::matrix_record(cases, "12.4.5"));
  EXPECT_THAT(matrix({"--by", "cublas"}).stdout_text,
              HasSubstr("1 cell different, 33 equal, 1 not observed in all\n"));
  EXPECT_THAT(matrix({"--by", "cublas,gpu"}).stdout_text, HasSubstr("cublas 12.4.5, gpu NVIDIA "));
  const auto csv = matrix({"--by", "cublas", "--format", "csv"}).stdout_text;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << "its head, and the cell on each stack";
  expect_refusal({"--by", "colour"}, "--by colour: no stack has it; their keys are cublas, driver, gpu");
}

TEST_F(matrix_command, refuses_what_no_cell_is) {
  expect_refusal({"--fault", "earthquake"},
                 "no cell in these records is one that was asked for; faults: full_device, kernel_trap");
  expect_refusal({"--operation", "sgemm_65"},
                 "no cell in these records is one that was asked for; did you mean sgemm_64?; operations: "
                 "cublas_create, ");
  expect_refusal({"--format", "yaml"}, "--format: yaml not in ");
  write_whole(folder / "bad.jsonl", "{\n");
  expect_refusal({}, (folder / "bad.jsonl").string() + ":1: ");
}

TEST_F(matrix_command, says_so_where_no_record_has_a_cell) {
  write("a.jsonl", examples::matrix_record({}));
  const auto seen = matrix({});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_EQ(seen.stderr_text,
            "cufault: no record has a cell of the matrix: `cufault run matrix` makes them\n");
}

// ---- history matrix ----

class changes_command : public matrix_command {
 protected:
  void SetUp() override {
    matrix_command::SetUp();
    auto newer = examples::example_cases();
    for (case_result& c : newer)
      for (arm_result& a : c.arms)
        if (a.name == "sgemm_64.warm.arrived") a.trials[0].calls[0].what.status = examples::internal;
    write("b.jsonl", examples::matrix_record(newer, "13.10.0"));
  }

  [[nodiscard]] process_result changes(std::vector<std::string> words) const {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "history", "matrix", folder};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.keep_output = 4u << 20;
    return run_process(options, {});
  }
};

TEST_F(changes_command, prints_what_changed_between_two_releases) {
  // No record, although it lies among records.
  write_whole(folder / "cublas-releases.jsonl", "{\"release\":\"13.1.0.3\",\"library\":\"cublas\"}\n");
  const auto seen = changes({"--markdown"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text,
              HasSubstr("| 1 | 13.1.0 → 13.10.0 | EXECUTION_FAILED → INTERNAL_ERROR | cublasSgemm |"));
  const auto json = nlohmann::json::parse(changes({"--json", "--release", "13.10.0"}).stdout_text);
  EXPECT_EQ(json["changes"].size(), 1);
  EXPECT_EQ(json["changes"][0]["arms"][0], "matrix.kernel_trap/sgemm_64.warm.arrived");
}

TEST_F(changes_command, refuses_in_one_line_what_it_cannot_compare) {
  const auto refused = [&](const std::vector<std::string>& words) {
    const auto seen = changes(words);
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_EQ(seen.stdout_text, "");
    return seen.stderr_text;
  };
  EXPECT_EQ(refused({"--release", "13.5.1"}),
            "cufault: --release 13.5.1: it is not in these records, which have 13.1.0, 13.10.0\n");
  EXPECT_THAT(refused({"--gpu", "B200"}),
              StartsWith("cufault: no release of cuBLAS in these records on a GPU of that name, and two"));
  fs::remove(folder / "b.jsonl");
  EXPECT_THAT(refused({}), StartsWith("cufault: one release of cuBLAS in these records, and two"));
}

}  // namespace
}  // namespace cufault
