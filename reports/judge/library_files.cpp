// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/library_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>

namespace cufault {
namespace {

constexpr const char *absent_words = "none", *files_name = "files of the libraries";

enum class file_fact_kind { search_path, needed, gpu_code, build_id };
constexpr std::array fact_titles{std::pair{file_fact_kind::search_path, "search path"},
                                 std::pair{file_fact_kind::needed, "needed libraries"},
                                 std::pair{file_fact_kind::gpu_code, "GPU code"},
                                 std::pair{file_fact_kind::build_id, "build id"}};

/// Arms whose outcome depends on a fact of a library's file.
struct dependent_arms {
  const char* arms;  // of fnmatch(3)
  const char* library;
};
constexpr std::array by_search_path{dependent_arms{"environment.mixed_libraries/*", "cublas"}};

std::string text_in(const nlohmann::json& file, const char* member) {
  const auto found = file.find(member);
  return found != file.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<std::string, nlohmann::json> files_in(const nlohmann::json& stack) {
  std::map<std::string, nlohmann::json> files;
  if (!stack.is_object() || !stack.contains("files") || !stack["files"].is_object()) return files;
  for (const auto& [library, file] : stack["files"].items())
    if (file.is_object()) files[library] = file;
  return files;
}

std::vector<std::string> words_in(const nlohmann::json& file, file_fact_kind kind) {
  std::vector<std::string> words;
  const auto text = [&](const char* member, const char* prefix) {
    if (const std::string value = text_in(file, member); !value.empty()) words.push_back(prefix + value);
  };
  const auto list = [&](const char* member) {
    const auto found = file.find(member);
    if (found == file.end() || !found->is_array()) return;
    for (const auto& one : *found)
      if (one.is_string()) words.push_back(one.get<std::string>());
  };
  switch (kind) {
    case file_fact_kind::search_path:
      text("rpath", "DT_RPATH ");
      text("runpath", "DT_RUNPATH ");
      break;
    case file_fact_kind::needed:
      list("needed");
      break;
    case file_fact_kind::gpu_code:
      list("gpu_code");
      break;
    case file_fact_kind::build_id:
      text("build_id", "");
      break;
  }
  if (words.empty()) words.emplace_back(absent_words);
  return words;
}

std::string joined_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Those that the other does not have.
std::string words_of_one(const std::vector<std::string>& words, const std::vector<std::string>& other) {
  std::vector<std::string> kept;
  std::ranges::copy_if(words, std::back_inserter(kept),
                       [&](const std::string& w) { return std::ranges::find(other, w) == other.end(); });
  return joined_words(kept);
}

}  // namespace

std::vector<file_fact> file_facts_of(const nlohmann::json& stack) {
  std::vector<file_fact> facts;
  const auto files = files_in(stack);
  for (const auto& [kind, title] : fact_titles)
    for (const auto& [library, file] : files)
      facts.push_back({fmt::format("{}: {}", library, title), words_in(file, kind)});
  return facts;
}

std::vector<std::pair<std::string, std::string>> words_of_files(const nlohmann::json& stack) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [library, file] : files_in(stack)) {
    std::string words = text_in(file, "unread");
    if (words.empty())
      words = fmt::format("search path {}; GPU code {}; build id {}",
                          joined_words(words_in(file, file_fact_kind::search_path)),
                          joined_words(words_in(file, file_fact_kind::gpu_code)),
                          joined_words(words_in(file, file_fact_kind::build_id)));
    all.emplace_back(library, std::move(words));
  }
  return all;
}

std::vector<stack_difference> file_differences(const nlohmann::json& before, const nlohmann::json& after) {
  const std::vector<file_fact> was = file_facts_of(before), is = file_facts_of(after);
  const auto recorded = [](const std::vector<file_fact>& facts) {
    return std::string(facts.empty() ? "not recorded" : "recorded");
  };
  if (was.empty() != is.empty()) return {{files_name, {recorded(was), recorded(is)}}};
  std::vector<stack_difference> all;
  const auto named = [](const std::vector<file_fact>& facts, const std::string& name) {
    const auto found = std::ranges::find(facts, name, &file_fact::name);
    return found == facts.end() ? std::vector<std::string>() : found->words;
  };
  const auto note = [&](const std::string& name) {
    const auto then = named(was, name), now = named(is, name);
    stack_difference d{name, {words_of_one(then, now), words_of_one(now, then)}};
    if (!d.values[0].empty() || !d.values[1].empty()) all.push_back(std::move(d));
  };
  for (const file_fact& f : is) note(f.name);
  for (const file_fact& f : was)
    if (named(is, f.name).empty()) note(f.name);
  return all;
}

std::string explained_by_files(std::string_view arm, const nlohmann::json& before,
                               const nlohmann::json& after) {
  const auto was = files_in(before), is = files_in(after);
  for (const auto& [arms, library] : by_search_path) {
    if (fnmatch(arms, std::string(arm).c_str(), 0) != 0 || !was.contains(library) || !is.contains(library))
      continue;
    const nlohmann::json &then = was.at(library), &now = is.at(library);
    const auto before_it = words_in(then, file_fact_kind::search_path),
               after_it = words_in(now, file_fact_kind::search_path);
    if (before_it == after_it) continue;
    const std::string soname = text_in(now, "soname");
    const std::string& name = soname.empty() ? library : soname;
    // Of ld.so(8): RPATH comes before LD_LIBRARY_PATH, and counts only in a file that has no RUNPATH, which comes after it.
    const auto first = [](const nlohmann::json& file) {
      return !text_in(file, "rpath").empty() && text_in(file, "runpath").empty();
    };
    if (first(now) && !first(then))
      return fmt::format("{} now has DT_RPATH, which LD_LIBRARY_PATH cannot override", name);
    if (first(then) && !first(now))
      return fmt::format("{} no longer has a DT_RPATH that comes before LD_LIBRARY_PATH", name);
    return fmt::format("the search path of {} is now {}, before {}", name, joined_words(after_it),
                       joined_words(before_it));
  }
  return {};
}

}  // namespace cufault
