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
#include <array>

namespace cufault {

std::vector<file_history> file_histories(std::vector<std::pair<std::string, nlohmann::json>> files) {
  std::ranges::stable_sort(
      files, [](const auto& a, const auto& b) { return version_from(a.first) < version_from(b.first); });
  std::vector<file_history> all;
  for (const auto& [release, of] : files)
    for (const file_fact& f : file_facts_of({{"files", of}})) {
      if (f.name.ends_with("build id")) continue;
      auto known = std::ranges::find_if(all, [&](const file_history& h) { return h.name == f.name; });
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

std::vector<release_note> load_release_notes(const std::filesystem::path& file) {
  return release_notes_from(json_cursor{read_json(file)});
}

std::vector<release_note> release_notes_from(const json_cursor& top) {
  constexpr int schema = 1;
  constexpr std::array verdicts{"confirmed", "not_seen", "not_tried"};
  if (const auto found = top.at("schema").integer(); found != schema)
    top.at("schema").fail(
        fmt::format("schema {}, and this cufault reads {} of release notes", found, schema));
  const auto strings = [](const json_cursor& list) {
    std::vector<std::string> all;
    for (const json_cursor& one : list.items()) all.push_back(one.string());
    return all;
  };
  std::vector<release_note> all;
  std::set<std::string> met;
  for (const json_cursor& at : top.at("notes").items()) {
    const json_cursor ours = at.at("ours");
    release_note n{.id = at.at("id").string(),
                   .release = at.at("release").string(),
                   .toolkit = at.at("toolkit").string(),
                   .section = at.at("section").string(),
                   .says = at.at("says").string(),
                   .harm = at.at("harm").string(),
                   .address = at.at("address").string(),
                   .calls = strings(at.at("calls")),
                   .verdict = ours.at("verdict").string()};
    if (ours.has("why")) n.why = ours.at("why").string();
    if (ours.has("arms")) n.arms = strings(ours.at("arms"));
    if (!met.insert(n.id).second) at.at("id").fail(fmt::format("\"{}\" twice", n.id));
    if (std::ranges::find(verdicts, n.verdict) == verdicts.end())
      ours.at("verdict").fail("expected confirmed, not_seen or not_tried");
    if (n.arms.empty() != (n.verdict == "not_tried"))
      ours.fail("confirmed and not_seen name arms, and not_tried names none");
    all.push_back(std::move(n));
  }
  return all;
}

std::vector<std::size_t> changes_of_note(const release_note& note, const std::vector<release_change>& all) {
  std::vector<std::size_t> found;
  if (note.verdict != "confirmed") return found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& calls = all[i].calls;
    const bool of_these_calls =
        calls.empty() || note.calls.empty() ||
        std::ranges::any_of(note.calls, [&](const auto& call) { return calls.contains(call); });
    if (of_these_calls && std::ranges::any_of(note.arms, [&](const std::string& arm) {
          return std::ranges::binary_search(all[i].arms, arm);
        }))
      found.push_back(i);
  }
  return found;
}

}  // namespace cufault
