// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault.so in front of a fake driver (programs/fake_driver.cpp), in a process that reaches it in every way (programs/probe.cpp).
#pragma once

#include "harness/system/tests/plain_environment.hpp"
#include "harness/system/tests/said_by.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace cufault {

namespace fs = std::filesystem;
using nlohmann::json;

inline std::string from_environment(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : otherwise;
}

/// What is tested: this build, or one for another processor (see ci/selftest), whose programs an emulator runs.
extern const char* const build_tree;  // in injector_test.cpp
inline const std::string tree = from_environment("CUFAULT_TESTED_TREE", build_tree);
/// In front of VARIABLE=VALUE PROGRAM.
inline const std::string with_variable = from_environment("CUFAULT_TESTED_UNDER", "env");
inline const bool emulated = with_variable != "env";
inline const std::string library = tree + "/lib/cufault/libcufault.so",
                         host_library = tree + "/lib/cufault/libcufault_host.so",
                         probe = tree + "/bin/injector_probe", driver_folder = tree + "/lib/injector_tests",
                         other_allocator = driver_folder + "/libinjector_other_allocator.so",
                         limiter = driver_folder + "/libinjector_limiter.so",
                         sharer = driver_folder + "/libinjector_sharer.so";

class injector : public testing::Test {
 public:
  injector() {
    forget_settings_of_cufault();
    std::string name = (fs::temp_directory_path() / "cufault-injector-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~injector() override { fs::remove_all(folder); }
  injector(const injector&) = delete;
  injector& operator=(const injector&) = delete;

 protected:
  /// What the probe says in its lines, standard error included.
  std::vector<std::string> lines(const std::string& what, const std::string& rules = "",
                                 const std::string& more = "") {
    return lines_of(probe + " " + what, rules, more);
  }
  std::vector<std::string> without_preload(const std::string& what) {
    return run("", "", probe + " " + what);
  }
  /// Likewise of another program.
  std::vector<std::string> lines_of(const std::string& program, const std::string& rules = "",
                                    const std::string& more = "") {
    const std::string quoted = rules.empty() ? "" : "CUFAULT_RULES='" + rules + "' ";
    return run("CUFAULT_LOG=" + log().string() + " " + quoted + more, library, program);
  }
  /// What the probe says where libcufault_host.so is preloaded too.
  std::vector<std::string> lines_with_host(const std::string& what, const std::string& rules,
                                           const std::string& more = "") {
    return run("CUFAULT_LOG=" + log().string() + " CUFAULT_RULES='" + rules + "' " + more,
               library + ":" + host_library, probe + " " + what);
  }

  std::vector<std::string> run(const std::string& environment, const std::string& preload,
                               const std::string& program) {
    return said_by("env LD_LIBRARY_PATH=" + driver_folder + " " + environment + " " + with_variable +
                   " LD_PRELOAD=" + preload + " " + program + " 2>&1");
  }

  [[nodiscard]] fs::path log() const { return folder / "log"; }
  [[nodiscard]] std::vector<json> events(const std::string& event) const {
    std::vector<json> found;
    std::ifstream in(log());
    for (std::string line; std::getline(in, line);)
      if (auto each = json::parse(line); each["event"] == event) found.push_back(std::move(each));
    return found;
  }
  /// Calls by function and the library that resolved it: "cuMemAlloc_v2 by injector_probe".
  [[nodiscard]] std::map<std::string, int> counts() const {
    std::map<std::string, int> all;
    for (const json& each : events("calls"))
      all[each["function"].get<std::string>() + " by " + each["resolved_by"].get<std::string>()] +=
          each["calls"].get<int>();
    return all;
  }

  fs::path folder;
};

inline std::string rules(const std::string& each) {
  return R"({"rules": [)" + each + "]}";
}

}  // namespace cufault
