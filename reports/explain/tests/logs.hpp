// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/json_input.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

/// A log of a file, and what is to be said of it: the lines "#: EXPECTATION" above it. answers_test.cpp has the words of expectations.
struct told_log {
  std::string where;  ///< file and line
  std::vector<std::string> told;
  std::string text;
};

/// Of all files in a folder. Where the first expectation begins with "each line: ", each line is a log.
inline std::vector<told_log> logs_in(const std::filesystem::path& folder) {
  std::vector<told_log> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string whole = read_text(entry.path()), each = "each line: ";
    bool in_head = false, of_each_line = false;
    std::size_t number = 0;
    for (std::size_t at = 0; at < whole.size(); ++number) {
      const std::size_t end = std::min(whole.find('\n', at), whole.size());
      std::string line = whole.substr(at, end - at);
      at = end + 1;
      const bool is_head = line.starts_with("#: ");
      if (all.empty() || number == 0 || (is_head && !in_head)) {
        all.push_back({entry.path().filename().string() + ":" + std::to_string(number + 1), {}, {}});
        of_each_line = line.starts_with("#: " + each);
      } else if (of_each_line && !is_head && !in_head) {
        all.push_back(
            {entry.path().filename().string() + ":" + std::to_string(number + 1), all.back().told, {}});
      }
      if (is_head)
        all.back().told.push_back(line.substr(line.starts_with("#: " + each) ? 3 + each.size() : 3));
      else
        all.back().text += line + '\n';
      in_head = is_head;
    }
  }
  for (told_log& log : all)
    if (!log.text.empty()) log.text.pop_back();
  return all;
}

}  // namespace cufault
