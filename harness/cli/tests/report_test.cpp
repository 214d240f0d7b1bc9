// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault report` as a program: what it reads, writes and refuses. Needs no CUDA.
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class report_command : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cufault-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directory(folder / "in");
    record r = examples::matrix_record(examples::example_cases());
    r.version = r.commit = "test";
    r.complete = true;
    r.ended = r.started;
    good = record_text(r);
    write_whole(folder / "in" / "good.jsonl", good);
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] process_result run(const std::vector<std::string>& more = {}) const {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "report", folder / "in", "-o", folder / "out"};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    options.keep_output = 1u << 20;
    return run_process(options, {});
  }
  [[nodiscard]] std::string written(const char* name) const { return read_text(folder / "out" / name); }

  fs::path folder;
  std::string good;
};

TEST_F(report_command, of_a_stack_has_a_version_times_in_order_and_the_exit_code_of_a_gate) {
  spawn_options filing;
  filing.argv = {CUFAULT_PROGRAM, "baseline", "add", folder / "in" / "good.jsonl", "--into", folder / "own"};
  ASSERT_EQ(run_process(filing, {}).exit_code, 1);  // what was not provoked is left out
  fs::remove(folder / "in" / "good.jsonl");
  const std::string stack = "h200-580.1-cublas-13.1.0";
  fs::copy(folder / "own" / stack, folder / "in", fs::copy_options::recursive);
  ASSERT_EQ(run({"--baseline", folder / "own"}).exit_code, 0);
  auto results = nlohmann::json::parse(written("ctrf.json"))["results"];
  EXPECT_NE(results["tool"]["version"], "");
  EXPECT_GT(results["summary"]["start"], 0);
  EXPECT_GE(results["summary"]["stop"], results["summary"]["start"]);
  EXPECT_EQ(results["extra"]["exit_code"], 0);
  EXPECT_THAT(written("cufault.prom"), Not(HasSubstr("version=\"\"")));

  std::string changed = read_text(folder / "in" / "matrix.jsonl");
  const std::string was = "CUBLAS_STATUS_EXECUTION_FAILED", now = "CUBLAS_STATUS_NOT_SUPPORTED";
  for (auto at = changed.find(was); at != changed.npos; at = changed.find(was))
    changed.replace(at, was.size(), now);
  write_whole(folder / "in" / "matrix.jsonl", changed);
  ASSERT_EQ(run({"--baseline", folder / "own"}).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(written("ctrf.json"))["results"]["extra"]["exit_code"], 1);
  EXPECT_THAT(written("cufault.prom"), testing::ContainsRegex("cufault_run_exit_code[{][^}]*[}] 1\n"));
}

TEST_F(report_command, compares_with_the_green_run_that_is_named) {
  record green = load_record(folder / "in" / "good.jsonl");
  green.exit_code = 0;
  write_whole(folder / "green.jsonl", record_text(green));
  const auto seen =
      run({"--since", folder / "green.jsonl", folder / "in" / "good.jsonl"});  // the last is a RECORD
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, StartsWith("nothing changed: "));
  EXPECT_THAT(written("index.html"), HasSubstr("✓ NOTHING CHANGED"));
  green.exit_code = 1;
  write_whole(folder / "green.jsonl", record_text(green));
  const auto refused = run({"--since", folder / "green.jsonl"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.stderr_text,
            "cufault: --since: no record there came to its end with exit code 0; name a run that passed, or "
            "the folder of a stack\n");
  const auto foreign = run({"--history", folder / "in" / "good.jsonl"});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.stderr_text, HasSubstr("good.jsonl: "));
}

TEST_F(report_command, names_what_it_cannot_read_and_reports_the_others) {
  std::string newer = good;
  newer.replace(newer.find("\"schema\":5"), 10, "\"schema\":9");
  write_whole(folder / "in" / "newer.jsonl", newer);
  write_whole(folder / "in" / "foreign.jsonl",
              "\x7f"
              "ELF");
  std::string damaged = good;
  damaged.replace(damaged.find("\"trials\""), 8, "\"trails\"");
  write_whole(folder / "in" / "damaged.jsonl", damaged);
  const auto seen = run();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 3) << seen.stderr_text;
  EXPECT_THAT(seen.stderr_text, HasSubstr("newer.jsonl:1: schema: made by a newer cufault"));
  EXPECT_THAT(seen.stderr_text, HasSubstr("foreign.jsonl:1: "));
  EXPECT_THAT(seen.stderr_text, HasSubstr("damaged.jsonl:2: trails: unknown key"));
  const std::string page = written("index.html");
  EXPECT_THAT(page, HasSubstr("matrix.kernel_trap"));
  EXPECT_THAT(page, HasSubstr("damaged.jsonl:2: trails: unknown key"));
}

TEST_F(report_command, reads_a_run_that_was_killed_as_far_as_it_goes) {
  write_whole(folder / "in" / "good.jsonl", good.substr(0, good.size() / 2));
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_THAT(written("index.html"), HasSubstr("<h3>Runs that did not come to their end</h3>"));
}

TEST_F(report_command, replaces_its_own_files_and_none_of_others) {
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(run().stdout_text, (folder / "out" / "index.html").string() + ": 1 stack\n")
      << "the same folder again";
  const auto refused = [&](const std::string& file, const std::string& why) {
    const auto seen = run();
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_EQ(seen.stdout_text, "");
    EXPECT_EQ(seen.stderr_text, "cufault: " + (folder / "out" / file).string() + ": " + why + "\n");
  };
  write_whole(folder / "out" / "records" / "old.jsonl", "mine");
  refused("records/old.jsonl", "is of no stack of this report; remove it, or give an empty folder");
  EXPECT_EQ(written("records/old.jsonl"), "mine");
  const std::string foreign =
      "was not written by cufault report, which would replace it; give an empty folder";
  for (const char* name : {"index.html", "summary.md", "summary.txt", "arms.csv", "report.json", "junit.xml",
                           "ctrf.json", "cufault.prom"}) {
    fs::remove_all(folder / "out");
    fs::create_directories(folder / "out");
    write_whole(folder / "out" / name, "mine");
    refused(name, foreign);
    EXPECT_EQ(written(name), "mine");
    EXPECT_FALSE(fs::exists(folder / "out" / "records"));
  }
  fs::remove_all(folder / "out");
  fs::create_directories(folder / "out" / "records");
  refused("records", foreign);
  fs::remove_all(folder / "out");
  write_whole(folder / "beside.txt", "mine");
  fs::create_directories(folder / "out");
  fs::rename(folder / "beside.txt", folder / "out" / "beside.txt");
  EXPECT_EQ(run().exit_code, 0) << "no file of a report has this name";
}

TEST_F(report_command, without_any_record_writes_nothing) {
  fs::remove(folder / "in" / "good.jsonl");
  const auto seen = run();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(seen.stderr_text, "cufault: no record was found; `cufault run` makes them\n");
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace
}  // namespace cufault
