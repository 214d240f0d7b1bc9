// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Runs libcufault.so before a fake driver (programs/fake_driver.cpp), in a process that reaches it in every way (programs/probe.cpp).
#pragma once

#include "harness/injector/tests/tested_tree.hpp"
#include "harness/system/tests/plain_environment.hpp"
#include "harness/system/tests/said_by.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

namespace fs = std::filesystem;
using nlohmann::json;

/// Precedes VARIABLE=VALUE PROGRAM.
inline const std::string with_variable = emulated ? emulator + " -E" : "env";
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
  /// Lines of the probe, with standard error.
  std::vector<std::string> lines(const std::string& what, const std::string& rules = "",
                                 const std::string& more = "") {
    return lines_of(probe + " " + what, rules, more);
  }
  std::vector<std::string> without_preload(const std::string& what) {
    return run("", "", probe + " " + what);
  }
  /// The same for another program.
  std::vector<std::string> lines_of(const std::string& program, const std::string& rules = "",
                                    const std::string& more = "") {
    const std::string quoted = rules.empty() ? "" : "CUFAULT_RULES='" + rules + "' ";
    return run("CUFAULT_LOG=" + log().string() + " " + quoted + more, library, program);
  }
  /// Lines of the probe with libcufault_host.so preloaded too.
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

  /// Output of `cufault WORDS`, and its exit code.
  static std::vector<std::string> cli(const std::string& words) {
    return said_with_emulator("env ASAN_OPTIONS=verify_asan_link_order=0 LD_LIBRARY_PATH=" + driver_folder +
                              " " + tested_command + " " + emulating(words, tree + "/bin/injector_") +
                              " 2>&1; echo exit code $?");
  }

  [[nodiscard]] fs::path log() const { return folder / "log"; }
  [[nodiscard]] std::vector<json> events(const std::string& event) const {
    std::vector<json> found;
    std::ifstream in(log());
    for (std::string line; std::getline(in, line);)
      if (auto each = json::parse(line); each["event"] == event) found.push_back(std::move(each));
    return found;
  }
  /// Number of calls by function and resolving library: "cuMemAlloc_v2 by injector_probe".
  [[nodiscard]] std::map<std::string, int> counts() const {
    std::map<std::string, int> all;
    for (const json& each : events("calls"))
      all[each["function"].get<std::string>() + " by " + each["resolved_by"].get<std::string>()] +=
          each["calls"].get<int>();
    return all;
  }

  fs::path folder;
};

/// Checks that a file of `cufault trace --chrome` has the Trace Event Format, as far as cufault uses it: an object with traceEvents, which
/// are complete events (X) and names of processes (M). Complete events of a thread must be disjoint or nested, since viewers drop others.
/// Times are microseconds with three decimals.
inline json read_trace_events(const fs::path& file) {
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const json trace = json::parse(text);
  EXPECT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_TRUE(trace["traceEvents"].is_array());
  const auto is_id = [](const json& id) { return id.is_number_unsigned() && id > 0 && id < (1LL << 31); };
  std::map<std::pair<long, long>, std::multimap<std::pair<double, double>, std::string>> threads;
  std::set<long> named, called;
  for (const json& each : trace["traceEvents"]) {
    EXPECT_TRUE(is_id(each["pid"]) && is_id(each["tid"])) << each;
    EXPECT_TRUE(each["name"].is_string() && !each["name"].get<std::string>().empty()) << each;
    EXPECT_TRUE(each["args"].is_object()) << each;
    if (each["ph"] == "M") {
      EXPECT_EQ(each.size(), 5U) << each;
      EXPECT_EQ(each["name"], "process_name");
      EXPECT_FALSE(each["args"]["name"].get<std::string>().empty());
      named.insert(each["pid"].get<long>());
      continue;
    }
    EXPECT_EQ(each["ph"], "X");
    EXPECT_EQ(each.size(), 8U) << each;
    EXPECT_TRUE(each["cat"].is_string()) << each;
    EXPECT_TRUE(each["ts"].is_number_float() && each["dur"].is_number_float()) << each;
    const double began = each["ts"], took = each["dur"];
    EXPECT_GT(began, 0);
    EXPECT_GE(took, 0);
    called.insert(each["pid"].get<long>());
    threads[{each["pid"], each["tid"]}].emplace(std::pair{began, -took}, each["name"]);  // outer events first
  }
  EXPECT_TRUE(std::includes(named.begin(), named.end(), called.begin(), called.end()))
      << "each process has a name";
  constexpr double rounding = 0.0015;  // of a sum of two times with three decimals
  for (const auto& [thread, calls] : threads) {
    std::vector<double> ends;  // of calls that have not ended
    for (const auto& [time, name] : calls) {
      const auto [began, minus_took] = time;
      while (!ends.empty() && ends.back() <= began + rounding) ends.pop_back();
      if (!ends.empty()) {
        EXPECT_LE(began - minus_took, ends.back() + rounding)
            << name << " of thread " << thread.second << " ends after the call that it was made in";
      }
      ends.push_back(began - minus_took);
    }
  }
  return trace["traceEvents"];
}

inline std::string rules(const std::string& each) {
  return R"({"rules": [)" + each + "]}";
}

}  // namespace cufault
