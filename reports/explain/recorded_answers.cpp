// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/recorded_answers.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(failure_seen, status, call)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(recorded_failure, cause, call, status, natural, by_driver, framework, arms,
                                   stacks, injected, trials, observed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(recorded_remedy, arm, words, answers, failures, cleared_on, failed_on)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(evidence, failures, remedies, unassigned)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(recorded_answers, seen, statuses)

namespace {

std::string hash_of_text(std::string_view text) {
  return fmt::format("{:016x}", std::hash<std::string_view>()(text));
}

/// The line in front of this text.
std::string head_of(std::string_view text, const std::string& digest) {
  return nlohmann::json::array({digest, hash_of_text(text)}).dump() + '\n';
}

}  // namespace

std::string digest_of(const std::vector<fs::path>& sources, std::string_view program) {
  std::vector<std::pair<std::string, fs::path>> files;
  for (const fs::path& folder : sources) {
    if (fs::is_regular_file(folder)) {
      files.emplace_back(folder.filename(), folder);
      continue;
    }
    for (const auto& entry :
         fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink))
      if (entry.is_regular_file() && entry.path().extension().string().starts_with(".json"))
        files.emplace_back(entry.path().lexically_relative(folder.parent_path()), entry.path());
  }
  std::ranges::sort(files);
  std::string text(program);
  for (const auto& [name, path] : files) text += fmt::format("\n{} {}", name, hash_of_text(read_text(path)));
  return hash_of_text(text);
}

recorded_answers answers_in(std::span<const record> judged, const lexicon& known) {
  recorded_answers all{.seen = evidence_in(judged, known)};
  for (const record& r : judged)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials)
          for (const call_record& call : o.calls) all.statuses.insert(call.what.status);
  return all;
}

void write_answers(const fs::path& file, const recorded_answers& all, const std::string& digest) {
  const std::string text = nlohmann::json(all).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  write_whole(file, head_of(text, digest) + text);
}

std::optional<recorded_answers> read_answers(const fs::path& file, const std::string& digest) {
  try {
    const std::string whole = read_text(file);
    const std::size_t end = whole.find('\n');
    if (end == std::string::npos) return {};
    const std::string_view text = std::string_view(whole).substr(end + 1);
    if (whole.substr(0, end + 1) != head_of(text, digest)) return {};
    return nlohmann::json::parse(text).get<recorded_answers>();
  } catch (const input_error&) {  // it cannot be read
    return {};
  }
}

}  // namespace cufault
