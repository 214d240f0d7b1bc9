// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault explain` from outside: where it takes its text from, exit codes, and what it says of input that is no log.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/tests/plain_environment.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class explain_command : public testing::Test {
 protected:
  void SetUp() override { forget_settings_of_cufault(); }

  static process_result run(std::vector<std::string> argv) {
    spawn_options options;
    options.argv = std::move(argv);
    options.keep_output = 4U << 20;
    return run_process(options, {});
  }
  /// By a few records: all that come with cufault take seconds each time, and far more under sanitizers.
  static process_result explain(std::vector<std::string> words) {
    words.insert(words.begin(), {"--records", SMALL_RECORDS});
    return explain_by_own_records(std::move(words));
  }
  static process_result explain_by_own_records(std::vector<std::string> words) {
    words.insert(words.begin(), {TEST_PROGRAM, "explain", "--no-machine"});
    return run(std::move(words));
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  const temporary_folder made{"cufault-explain-"};
  const fs::path folder = made.path();
};

const char* const failure =
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`";

TEST_F(explain_command, takes_a_message_a_file_and_standard_input) {
  const auto said = explain({failure});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text,
              AllOf(StartsWith("Failed  "), HasSubstr("\nCause   too little device memory")));
  EXPECT_LE(lines(said.stdout_text), 10U);
  EXPECT_THAT(explain({"--more", failure}).stdout_text,
              AllOf(StartsWith("This process"), HasSubstr("1. memory_exhausted.device")));
  EXPECT_EQ(explain({"cublasCreate", "ALLOC_FAILED"}).exit_code, 0);

  const std::string log = file("job", std::string(failure) + "\n");
  EXPECT_EQ(explain({log}).stdout_text, said.stdout_text);
  const std::string command =
      std::string("'") + TEST_PROGRAM + "' explain --no-machine --records '" + SMALL_RECORDS + "' ";
  EXPECT_EQ(run({"/bin/sh", "-c", command + "<'" + log + "'"}).stdout_text, said.stdout_text);
  EXPECT_EQ(run({"/bin/sh", "-c", command + "- <'" + log + "'"}).stdout_text, said.stdout_text);
}

TEST_F(explain_command, names_known_issues_of_this_call_and_status_alone) {
  const std::string refused =
      "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling "
      "`cublasLtMatmulAlgoGetHeuristic(lt, d)`";
  EXPECT_THAT(explain({refused}).stdout_text, HasSubstr("\nKnown   lt-heuristic-in-capture: "));
  EXPECT_THAT(explain({"--more", refused}).stdout_text,
              HasSubstr("\nKnown issue: lt-heuristic-in-capture: "));
  const auto json = nlohmann::json::parse(explain({"--json", refused}).stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_THAT(json["known_issues"][0], StartsWith("lt-heuristic-in-capture: "));
  EXPECT_EQ(explain({failure}).stdout_text.find("\nKnown"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(explain({"--json", failure}).stdout_text).contains("known_issues"));
}

TEST_F(explain_command, has_an_exit_code_for_no_answer) {
  const auto said = explain({"hello", "world"});
  EXPECT_EQ(said.exit_code, 4);
  EXPECT_THAT(said.stdout_text,
              AllOf(StartsWith("No failure of a GPU library in this log (command line: 1 line).\n"),
                    HasSubstr("cufault why -- COMMAND")));
  EXPECT_EQ(lines(said.stdout_text), 2U);
  EXPECT_EQ(explain({"CUDNN_STATUS_NO_SUCH"}).exit_code, 4);
  EXPECT_EQ(explain({file("empty", "")}).exit_code, 4);
  EXPECT_EQ(explain({file("garbage", std::string("\x01\xff\x00\x80 \n\xfe", 6))}).exit_code, 4);
}

TEST_F(explain_command, guesses_nothing_of_a_number_that_is_of_no_library) {
  EXPECT_THAT(explain({"cublas failed (13)"}).stdout_text, HasSubstr("CUBLAS_STATUS_EXECUTION_FAILED"));
  for (const char* said : {"failed: 13", "error code: 700", "cudnn error 9999"}) {
    const auto seen = explain({said});
    EXPECT_EQ(seen.exit_code, 4) << said;
    EXPECT_EQ(seen.stderr_text, "");
    EXPECT_THAT(seen.stdout_text, Not(HasSubstr("Cause"))) << said;
  }
}

TEST_F(explain_command, says_in_one_line_what_is_wrong_with_a_file_and_goes_on_with_others) {
  const std::string packed = file("job.gz", "\x1f\x8b\x08 rest"), good = file("good", failure);
  const auto said = explain({packed, good});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.stderr_text, AllOf(HasSubstr(packed + ": is compressed by gzip"), HasSubstr("zcat")));
  EXPECT_EQ(lines(said.stderr_text), 1U);
  EXPECT_THAT(said.stdout_text, HasSubstr("\nCause   too little device memory"));

  const auto missing = explain({"/nonexistent/job.log"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.stderr_text, HasSubstr("/nonexistent/job.log: No such file"));
  const auto mixed = explain({file("job.log", failure), "CUDA error: misaligned address"});
  EXPECT_EQ(mixed.exit_code, 2);
  EXPECT_THAT(mixed.stderr_text, HasSubstr("job.log is a file, and other arguments are not"));
  const auto is_folder = explain({folder});
  EXPECT_EQ(is_folder.exit_code, 2);
  EXPECT_THAT(is_folder.stderr_text, HasSubstr("Is a directory"));
  EXPECT_EQ(lines(is_folder.stderr_text), 1U);
}

TEST_F(explain_command, ranks_by_the_records_that_it_is_given) {
  fs::create_directories(folder / "none");
  const auto empty = explain_by_own_records({"--records", folder / "none", failure});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(empty.stdout_text, "");
  EXPECT_EQ(empty.stderr_text, "cufault: no record was found; `cufault run` makes them\n");
  record without_arms;
  without_arms.started = "2026-11-21T07:27:40Z";
  std::ofstream(folder / "none" / "run.jsonl") << record_text(without_arms);
  const auto said = explain_by_own_records({"--records", folder / "none", failure});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text, HasSubstr("no record shows this failure"));
  const auto wrong = explain_by_own_records({"--records", file("record.jsonl", "{\n"), failure});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(lines(wrong.stderr_text), 1U);
}

TEST_F(explain_command, counts_the_copy_of_a_record_once) {
  const fs::path all = folder / "all", one = all / "one";
  fs::create_directories(all);
  fs::copy(SMALL_RECORDS, one);
  const auto alone = explain_by_own_records({"--records", all, failure});
  EXPECT_EQ(alone.exit_code, 0) << alone.stderr_text;
  fs::copy(SMALL_RECORDS, all / "copy");
  EXPECT_EQ(explain_by_own_records({"--records", all, failure}).stdout_text, alone.stdout_text);
}

TEST_F(explain_command, ranks_by_the_records_that_come_with_cufault) {
#ifdef SANITIZED
  GTEST_SKIP() << "other tests read all records under sanitizers, in their own process";
#endif
  const auto said = explain_by_own_records({"--more", failure});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text,
              AllOf(HasSubstr("1. memory_exhausted.device"), HasSubstr(" stacks; made up: ")));
}

}  // namespace
}  // namespace cufault
