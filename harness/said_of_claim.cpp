// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/said_of_claim.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace cufault {

std::vector<said_of_claim> gives_invalid_value(const came_to_by_kind& kinds) {
  constexpr const char* documented = "CUBLAS_STATUS_INVALID_VALUE";
  std::vector<std::string> as_documented, otherwise;
  for (const auto& [kind, statuses] : kinds) {
    auto others = statuses;
    std::erase(others, documented);
    if (const std::size_t holding = statuses.size() - others.size(); holding > 0)
      as_documented.push_back(fmt::format("{} ({} of {})", kind, holding, statuses.size()));
    if (!others.empty()) otherwise.push_back(fmt::format("{}: {}", kind, counted(others)));
  }
  std::vector<said_of_claim> found;
  if (!as_documented.empty())
    found.push_back({true, fmt::format("{} for {}", documented, fmt::join(as_documented, ", "))});
  if (!otherwise.empty()) found.push_back({false, fmt::format("{}", fmt::join(otherwise, "; "))});
  return found;
}

std::string counted(const std::vector<std::string>& names) {
  std::map<std::string, int> times;
  for (const std::string& each : names) ++times[each];
  std::vector<std::string> words;
  for (const auto& [name, n] : times) words.push_back(fmt::format("{} {}", n, name));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace cufault
