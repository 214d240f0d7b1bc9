// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault sweep -- COMMAND, of a program with a bug of each kind (harness/injector/tests/programs/swept.cpp) on the fake driver.
#pragma once

#include "harness/injector/tests/tested_tree.hpp"
#include "harness/system/process.hpp"
#include "harness/system/tests/plain_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {

namespace fs = std::filesystem;
using nlohmann::json;

inline const std::string programs = tree + "/bin/", swept_program = programs + "injector_swept",
                         unlinked_probe = programs + "injector_blas_probe",
                         blas = tree + "/lib/injector_tests/blas";

class sweep_program : public testing::Test {
 protected:
  void SetUp() override {
    forget_settings_of_cufault();
    std::string pattern = (fs::temp_directory_path() / "cufault-sweep-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directories(folder / "temporary");
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder / "temporary")) << "a temporary file was left behind";
    fs::remove_all(folder);
  }

  std::map<std::string, std::string> environment(bool counts_runs) {
    std::map<std::string, std::string> all{{"TMPDIR", folder / "temporary"}};
    if (counts_runs) {
      fs::remove(folder / "runs");
      fs::remove(folder / "runs.failed");
      all["SWEPT_RUNS"] = folder / "runs";
    }
    return all;
  }

  static std::vector<std::string> words_of(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) {
    std::vector<std::string> all{tested_command, "sweep"};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    for (const std::string& word : emulating(command)) all.push_back(word);
    return all;
  }
  /// Signals end it, also where this process was started to ignore them, as a shell starts what it runs in the background.
  [[noreturn]] static void become(std::vector<std::string> words) {
    for (const int ends : {SIGINT, SIGPIPE}) signal(ends, SIG_DFL);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(125);
  }

  process_result cufault(const std::vector<std::string>& options, const std::vector<std::string>& command,
                         bool counts_runs = false) {
    spawn_options started;
    started.argv = words_of(options, command);
    started.environment = environment(counts_runs);
    started.environment["CUFAULT_JOBS"] = "1";
    started.keep_output = 4U << 20;
    process_result seen = run_process(started, {});
    EXPECT_EQ(seen.stragglers, 0);
    return seen;
  }

  /// With --json: its lines of that kind.
  struct swept {
    process_result process;
    std::vector<json> lines;
    [[nodiscard]] std::vector<json> of(const std::string& kind) const {
      std::vector<json> found;
      for (const json& line : lines)
        if (line["line"] == kind) found.push_back(line);
      return found;
    }
    /// "cuInit reported".
    [[nodiscard]] std::vector<std::string> outcomes() const {
      std::vector<std::string> found;
      for (const json& r : of("row"))
        found.push_back(r["function"].get<std::string>() + " " + r["outcome"].get<std::string>());
      return found;
    }
  };
  swept sweep(std::vector<std::string> options, std::vector<std::string> words, bool counts_runs = false) {
    options.emplace_back("--json");
    words.insert(words.begin(), swept_program);
    swept seen{cufault(options, words, counts_runs), {}};
    std::istringstream in(seen.process.stdout_text);
    for (std::string line; std::getline(in, line);) seen.lines.push_back(json::parse(line));
    return seen;
  }

  fs::path folder;
};

}  // namespace cufault
