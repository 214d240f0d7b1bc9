// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// For CTest: were enough cases executed, and is nothing left behind?
#include "harness/cli/cli.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/system/process.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

bool process_exists(const std::string& pid) {
  std::error_code unseen;
  return fs::exists("/proc/" + pid, unseen);
}

/// What trials that are over have left: this user's folders made since `then` by runs that are no more, and
/// processes of such runs.
std::vector<std::string> left_behind(fs::file_time_type then) {
  std::vector<std::string> found;
  std::error_code no_folder, end;  // a folder that cannot be read, or read on, has no more to show
  for (auto at = fs::directory_iterator(fs::temp_directory_path(no_folder), end);
       at != fs::directory_iterator(); at.increment(end)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(scratch_prefix)) continue;
    const std::string pid = name.substr(scratch_prefix.size(), name.rfind('-') - scratch_prefix.size());
    struct stat folder {};
    std::error_code gone;
    const auto made = at->last_write_time(gone);
    if (gone || made < then || lstat(at->path().c_str(), &folder) != 0 || folder.st_uid != geteuid())
      continue;
    if (!process_exists(pid)) found.push_back(at->path().string());
  }
  for (auto at = fs::directory_iterator("/proc", end); at != fs::directory_iterator(); at.increment(end)) {
    std::error_code not_ours;
    if (fs::read_symlink(at->path() / "exe", not_ours) != own_path()) continue;
    std::ifstream line(at->path() / "cmdline", std::ios::binary);
    std::string word, before;
    for (; std::getline(line, word, '\0'); before = word) {
      if (before == "--parent" && !process_exists(word))
        found.push_back(fmt::format("process {}", at->path().filename().string()));
    }
  }
  return found;
}

/// What the driver wrote to the home folder since `then`, for a trial or another program: nobody can tell.
std::vector<std::string> written_to_home(fs::file_time_type then) {
  std::vector<std::string> found;
  const char* home = std::getenv("HOME");
  const fs::path cache = fs::path(home != nullptr ? home : "/nonexistent") / ".nv";
  std::error_code end;
  const auto closed = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(cache, closed, end);
       at != fs::recursive_directory_iterator(); at.increment(end)) {
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (!gone && written >= then) found.push_back(at->path().string());
  }
  return found;
}

}  // namespace

int check_floor(const fs::path& records, int at_least) {
  std::error_code none;
  const auto since = fs::last_write_time(preflight_stamp(records), none);
  if (none)
    throw usage_error(
        fmt::format("no preflight has run in {}; run the tests through ctest", records.string()));
  std::string seen;
  std::getline(std::ifstream(preflight_stamp(records)), seen);
  const bool on_gpu = seen == "gpu";
  fs::remove(preflight_stamp(records), none);

  std::set<std::string> executed;
  for (const fs::path& file : records_in({records})) {
    if (fs::last_write_time(file) < since) continue;
    executed.merge(executed_cases(load_record(file).cases, on_gpu));
  }
  std::cout << fmt::format("{} cases were executed{}; the floor is {}\n", executed.size(),
                           on_gpu ? " on the GPU" : "", at_least);
  if (const auto written = written_to_home(since); !written.empty())
    std::cout << fmt::format("note: a trial or another program wrote to the home folder meanwhile: {}\n",
                             fmt::join(written, ", "));
  if (const auto left = left_behind(since); !left.empty())
    throw usage_error(fmt::format("left behind by trials: {}", fmt::join(left, ", ")), exit_gate);
  if (static_cast<int>(executed.size()) >= at_least) return 0;
  throw usage_error(
      "too few cases ran for the result to mean anything; see the skipped tests above, or CUFAULT_FLOOR",
      exit_gate);
}

}  // namespace cufault
