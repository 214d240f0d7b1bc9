// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_fields.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/evidence/distance.hpp"
#include "reports/history/changes.hpp"
#include "reports/judge/library_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace cufault {

std::vector<file_history> file_histories(std::vector<std::pair<std::string, nlohmann::json>> files) {
  std::ranges::stable_sort(
      files, [](const auto& a, const auto& b) { return version_from(a.first) < version_from(b.first); });
  std::vector<file_history> all;
  for (const auto& [release, of] : files)
    for (const file_fact& f : file_facts_of({{"files", of}})) {
      if (f.name.ends_with("build id")) continue;
      auto known = std::ranges::find(all, f.name, &file_history::name);
      if (known == all.end()) known = all.insert(all.end(), {.name = f.name});
      const std::string words = fmt::format("{}", fmt::join(f.words, " "));
      if (known->ranges.empty() || known->ranges.back().words != words)
        known->ranges.push_back({release, release, words});
      else
        known->ranges.back().last = release;
    }
  return all;
}

std::vector<std::pair<std::string, nlohmann::json>> files_of_releases(const std::filesystem::path& file) {
  std::map<std::string, nlohmann::json> by_release;
  const std::string text = read_text(file);
  each_line(text, [&](std::string_view line, int number, bool /*whole*/) {
    if (line.empty()) return;
    const json_cursor at{parse_json(file.string(), line, number)};
    by_release[at.at("release").string()][at.at("library").string()] = at.value();
  });
  return {by_release.begin(), by_release.end()};
}

}  // namespace cufault
