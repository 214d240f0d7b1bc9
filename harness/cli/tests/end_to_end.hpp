// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/process.hpp"
#include "harness/system/tests/plain_environment.hpp"
#include "reports/base/files.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

namespace fs = std::filesystem;

// What the build knows, in end_to_end_test.cpp.
extern const char *const test_program, *const fake_cublas_folder, *const driver_stand_ins_folder;

/// Ends what hangs. What does not hang may be slow on a busy machine.
constexpr std::chrono::minutes long_enough{10};

/// The command line on cases that need no GPU, in a folder of its own.
class end_to_end : public testing::Test {
 protected:
  void SetUp() override {
    forget_settings_of_cufault();
    std::string pattern = (fs::temp_directory_path() / "cufault-road-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directories(folder / "temporary");
    fs::create_directories(folder / "baseline");
  }
  void TearDown() override { fs::remove_all(folder); }

  process_result cufault(std::vector<std::string> words,
                         std::map<std::string, std::string> environment = {}) {
    spawn_options options;
    options.argv = {test_program};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    environment.try_emplace("TMPDIR", folder / "temporary");
    environment.try_emplace("XDG_DATA_HOME", folder / "data");  // whoever runs the tests may have a baseline
    environment.try_emplace("CUDA_VISIBLE_DEVICES", "-1");      // also where these tests meet a GPU
    options.environment = std::move(environment);
    options.keep_output = 4u << 20;
    options.timeout = long_enough;
    return run_process(options, {});
  }

  process_result run(std::vector<std::string> more,
                     const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> words{"run",
                                   "--records",
                                   (folder / "records").string(),
                                   "--baseline",
                                   (folder / "baseline").string(),
                                   "--cublas",
                                   (fs::path(fake_cublas_folder) / "a").string()};
    words.insert(words.end(), more.begin(), more.end());
    return cufault(words, environment);
  }

  /// Trials that crash do so by a signal: a sanitizer reports for longer than a row may take. Its other options are those of this process.
  static std::map<std::string, std::string> crash_by_signal() {
    const char* const options = std::getenv("ASAN_OPTIONS");
    return {{"ASAN_OPTIONS", (options != nullptr ? std::string(options) + ":" : "") + "handle_segv=0"}};
  }

  /// Stand-ins for the driver and NVML say that there is this GPU: "a100" or "rtx4090" (harness/doctor/tests/stand_in_gpu.hpp).
  static std::map<std::string, std::string> on_gpu(const std::string& name) {
    return {{"LD_LIBRARY_PATH", driver_stand_ins_folder},
            {"CUDA_VISIBLE_DEVICES", "0"},
            {"DOCTOR_FAKE_GPU", name},
            {"DOCTOR_FAKE_UNUSED", "1"}};
  }

  /// In one line on standard error, which has these words.
  static void expect_refused(const process_result& seen, const std::string& words) {
    EXPECT_EQ(seen.exit_code, 2) << words;
    EXPECT_EQ(seen.stdout_text, "") << words;
    EXPECT_THAT(seen.stderr_text,
                testing::AllOf(testing::StartsWith("cufault: "), testing::HasSubstr(words)));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
  }

  [[nodiscard]] std::vector<fs::path> files(const char* extension) const {
    std::vector<fs::path> found;
    if (!fs::exists(folder / "records")) return found;
    for (const auto& entry : fs::directory_iterator(folder / "records")) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    // The second of one second is STEM-2.
    std::sort(found.begin(), found.end(),
              [](fs::path a, fs::path b) { return a.replace_extension() < b.replace_extension(); });
    return found;
  }

  process_result preflight(const std::map<std::string, std::string>& environment = {}) {
    return cufault(
        {"preflight", "--records", folder / "records", "--cublas", fs::path(fake_cublas_folder) / "a"},
        environment);
  }
  process_result floor(std::vector<std::string> more = {},
                       const std::map<std::string, std::string>& environment = {}) {
    more.insert(more.begin(), {"floor", "--records", folder / "records"});
    return cufault(more, environment);
  }

  process_result add(const fs::path& made, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"baseline", "add", made, "--into", folder / "baseline"};
    words.insert(words.end(), more.begin(), more.end());
    return cufault(words);
  }

  /// In which they began.
  static std::string order_of_arms(const process_result& seen) {
    std::istringstream lines(seen.stderr_text);
    std::string names;
    for (std::string line; std::getline(lines, line);)
      if (const auto end = line.find(" begins"); end != line.npos)
        names += line.substr(line.find('/') + 1, end - line.find('/') - 1) + " ";
    return names;
  }

  static const arm_result& arm_of(const record& r, const std::string& name) {
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (a.name == name) return a;
    throw std::out_of_range(name);
  }

  void add_what_is_seen() {
    ASSERT_EQ(run({"road.create"}).exit_code, 0);
    const auto added = add(files(".jsonl").back());
    ASSERT_EQ(added.exit_code, 0) << added.stderr_text;
    ASSERT_THAT(added.stdout_text, testing::HasSubstr("4 new, 0 changed, 0 there already, 0 left out"));
  }

  /// The only stack of the baseline.
  [[nodiscard]] fs::path recorded_stack() const { return *fs::directory_iterator(folder / "baseline"); }

  static void write(const fs::path& file, const record& r) { std::ofstream(file) << record_text(r); }

  fs::path folder;
};

}  // namespace cufault
