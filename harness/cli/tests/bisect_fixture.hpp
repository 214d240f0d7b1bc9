// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault bisect on stand-ins: copies of the fake cuBLAS in folders of releases, each with orders beside it.
#pragma once

#include "harness/cli/tests/end_to_end.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cufault {

class bisect_command : public end_to_end {
 protected:
  void SetUp() override {
    end_to_end::SetUp();
    releases = folder / "releases";
  }

  /// A release that says 13.1.0 (or, "b", 13.2.0) of itself. `orders`: files beside it, with what they say.
  void make(const std::string& name, const std::map<std::string, std::string>& orders = {},
            const std::string& pair = "a") const {
    fs::create_directories(releases / name);
    for (const char* library : {"libcublas.so.13", "libcublasLt.so.13"})
      fs::copy_file(fs::path(fake_cublas_folder) / pair / library, releases / name / library);
    for (const auto& [file, text] : orders) std::ofstream(releases / name / file) << text;
  }

  /// 13.1.0.0 to 13.1.0.9; those from `first_bad` to `last_bad` have this order, the others none.
  void make_ten(int first_bad, int last_bad = 9, const std::string& file = "fault",
                const std::string& order = "3") const {
    for (int i = 0; i < 10; ++i)
      make(version(i), i >= first_bad && i <= last_bad ? std::map<std::string, std::string>{{file, order}}
                                                       : std::map<std::string, std::string>{});
  }
  static std::string version(int i) { return "13.1.0." + std::to_string(i); }

  process_result bisect(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
    words.insert(words.begin(), {"bisect", "--releases", releases});
    environment.try_emplace("ROAD_FAULT", "file:fault");
    environment.try_emplace("ROAD_CONTROL", "file:control");
    return cufault(words, environment);
  }
  nlohmann::json answer(std::vector<std::string> words,
                        const std::map<std::string, std::string>& environment = {}, int exit_code = 0) {
    words.insert(words.begin(), "--json");
    const process_result ran = bisect(words, environment);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.stderr_text;
    auto read = nlohmann::json::parse(ran.stdout_text, nullptr, false);
    EXPECT_TRUE(read.is_object()) << ran.stdout_text << ran.stderr_text;
    return read;
  }
  static std::string result(const nlohmann::json& seen, const std::string& name) {
    for (const auto& r : seen["releases"])
      if (r["release"] == name) return r["result"];
    return "not tried";
  }
  /// The last line on standard error.
  static std::string line(const process_result& ran) {
    const auto end = ran.stderr_text.find_last_not_of('\n');
    const auto begin = ran.stderr_text.rfind('\n', end);
    return ran.stderr_text.substr(begin + 1, end - begin);
  }
  [[nodiscard]] bool nothing_left() const { return fs::is_empty(folder / "temporary"); }

  /// A command that does what the file "order" beside the libcublas says that is preloaded: sh code.
  const std::vector<std::string> by_order{"sh", "-c", R"(. "$(dirname "${LD_PRELOAD##*:}")/order")"};
  std::vector<std::string> with_command(std::vector<std::string> words) const {
    words.emplace_back("--");
    words.insert(words.end(), by_order.begin(), by_order.end());
    return words;
  }

  fs::path releases;
};

}  // namespace cufault
