// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault history matrix` as a program: what it reads, prints and refuses. Needs no CUDA.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class changes_command : public testing::Test {
 protected:
  void SetUp() override {
    write("a.jsonl", examples::matrix_record(examples::example_cases()));
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

  void write(const char* name, record r) const {
    r.version = r.commit = "test";
    r.complete = true;
    r.exit_code = 0;
    r.ended = r.started;
    write_whole(folder / name, record_text(r));
  }

  const temporary_folder made{"cufault-matrix-"};
  const fs::path folder = made.path();
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
