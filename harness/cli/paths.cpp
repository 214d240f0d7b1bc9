// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/paths.hpp"

#include "harness/cli/usage_error.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/system/process.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

fs::path data_folder(const char* installed, const char* in_source) {
  const fs::path beside = share_folder() / installed;
  return fs::exists(beside) ? beside : fs::path(CUFAULT_SOURCE_DIR) / in_source;
}

}  // namespace

fs::path own_path() {
  static const fs::path path = fs::read_symlink("/proc/self/exe");
  return path;
}

fs::path share_folder() {
  return own_path().parent_path().parent_path() / "share/cufault";
}
fs::path default_recorded() {
  return data_folder("recorded", "reports/recorded");
}
fs::path own_baseline() {
  if (fs::path given = variable("CUFAULT_BASELINE"); !given.empty()) return given;
  if (const fs::path data = variable("XDG_DATA_HOME"); data.is_absolute()) return data / "cufault/baseline";
  const fs::path home = variable("HOME");
  return home.empty() ? home : home / ".local/share/cufault/baseline";
}
std::vector<fs::path> baseline_folders(const fs::path& own) {
  const fs::path first = own.empty() ? own_baseline() : own;
  std::error_code none;
  if (first.empty() || fs::equivalent(first, default_recorded(), none)) return {default_recorded()};
  if (fs::exists(first, none) && !fs::is_directory(first, none))
    throw usage_error(fmt::format("the baseline {} is no folder", first.string()));
  const std::string named = variable("CUFAULT_BASELINE");
  if (first == named && !fs::exists(first, none))
    std::cerr << fmt::format(
        "cufault: CUFAULT_BASELINE={}: there is no such folder; cufault baseline add makes it\n", named);
  return {first, default_recorded()};
}
fs::path claims_file() {
  return data_folder("claims.json", "cases/claims.json");
}
fs::path failures_file() {
  return data_folder("failures.json", "cases/failures.json");
}
fs::path release_notes_file() {
  return data_folder("release_notes.json", "cases/release_notes.json");
}
fs::path ctest_folder() {
  return share_folder() / "ctest";
}
fs::path known_issues_file() {
  return data_folder("known_issues.json", "cases/known_issues.json");
}
fs::path frameworks_folder() {
  return data_folder("frameworks", "cases/frameworks/python");
}
std::vector<fs::path> snippet_folders() {
  return {data_folder("snippets", "cases/snippets"), frameworks_folder() / "framework_trials"};
}
fs::path explain_folder() {
  return data_folder("explain", "cases/explain");
}
fs::path table_file() {
  return share_folder() / "table.sqlite";
}
fs::path fetch_cublas_script() {
  return data_folder("fetch-cublas", "ci/fetch-cublas");
}

fs::path answers_folder() {
  return data_folder("answers", "reports/answers");
}

std::string program_path(const std::string& name) {
  const auto refused = [&](const std::string& why) {
    return usage_error(fmt::format("{}: cannot be run: {}", one_line(name), why));
  };
  std::string path = as_a_shell_finds(name);
  if (path.find('/') == path.npos) throw refused("no such program is in PATH");
  if (access(path.c_str(), X_OK) != 0) throw refused(std::strerror(errno));
  if (std::error_code none; fs::is_directory(path, none)) throw refused("it is a folder");
  return path;
}

std::vector<fs::path> own_paths() {
  std::vector<fs::path> all{frameworks_folder(), own_path()};
  if (const fs::path injector = bundled_file("libcufault.so"); !injector.empty())
    all.push_back(injector.parent_path());
  return all;
}

bool gpu_required() {
  const std::string given = variable("CUFAULT_REQUIRE_GPU");
  if (!given.empty() && given != "0" && given != "1")
    throw usage_error(fmt::format("CUFAULT_REQUIRE_GPU={}: it is 1, or 0", given));
  return given == "1";
}

}  // namespace cufault
