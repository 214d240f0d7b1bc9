// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Where `cufault bisect` gets releases of cuBLAS from.
#include "harness/cli/bisect.hpp"
#include "harness/cli/cli.hpp"
#include "harness/cli/swept_command.hpp"
#include "harness/doctor/library_facts.hpp"
#include "harness/model/errors.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/evidence/distance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::string_view stem = "libcublas.so", lt_stem = "libcublasLt.so";

bool is_older(const release& a, const release& b) {
  return version_from(a.name) < version_from(b.name);
}

/// A release whose libcublas is this file. Throws usage_error where no libcublasLt lies beside it.
release release_of_file(const std::string& name, const fs::path& cublas) {
  const fs::path cublaslt =
      cublas.parent_path() / (std::string(lt_stem) + cublas.filename().string().substr(stem.size()));
  std::error_code absent;
  if (!fs::exists(cublaslt, absent))
    throw usage_error(
        fmt::format("{}: there is no {} beside it", cublas.string(), cublaslt.filename().string()));
  return {name, fs::canonical(cublas), fs::canonical(cublaslt)};
}

/// Of the libcublas in a folder. Throws usage_error where it has none or several.
release release_in(const std::string& name, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(std::string(stem) + ".")) files.push_back(entry.path());
  if (files.empty()) throw usage_error(fmt::format("{} holds no {}.*", folder.string(), stem));
  std::ranges::sort(files);
  for (const fs::path& file : files)
    if (!fs::equivalent(file, files.front()))
      throw usage_error(fmt::format("{} holds more than one libcublas: {} and {}", folder.string(),
                                    files.front().filename().string(), file.filename().string()));
  return release_of_file(name, files.front());
}

/// What the library says, where its folder's name does not.
std::string version_said_by(const fs::path& library) {
  constexpr std::chrono::seconds limit{20};
  const library_answers said = ask_library(library, limit);
  if (said.version == 0) throw usage_error(fmt::format("its version is not known: {}", said.why));
  return cublas_version_text(said.version);
}

fs::path usual_keep() {
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "cufault/cublas";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache/cufault/cublas";
  throw usage_error("neither XDG_CACHE_HOME nor HOME is set: --keep FOLDER says where fetched releases go");
}

/// All that the package index has for this platform.
std::vector<std::string> versions_in_index(int stop) {
  spawn_options options;
  options.argv = {"/usr/bin/env", "bash", fetch_cublas_script(), "--list"};
  options.timeout = std::chrono::minutes(5);
  const process_result said = run_process(options, {}, stop);
  if (said.how == ending::interrupted) throw interrupted{};
  if (said.how != ending::exited || said.exit_code != 0)
    throw usage_error(
        fmt::format("the package index does not tell the versions of cuBLAS: {}; --releases FOLDER takes "
                    "libraries that are here",
                    said.how == ending::timed_out ? "it did not answer within 5 minutes"
                                                  : program_sweep::last_words(said.stderr_text)));
  std::istringstream in(said.stdout_text);
  std::vector<std::string> versions;
  for (std::string word; in >> word;) versions.push_back(word);
  return versions;
}

/// As ci/fetch-cublas leaves it: the licence comes last.
bool is_fetched(const fs::path& folder) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent))
    if (entry.path().filename().string().ends_with(".licence.txt")) return true;
  return false;
}

constexpr std::chrono::hours fetch_limit{1};

/// Waits while another process fetches into this folder, which is made and which that process removes at its end. Throws interrupted.
void lock_when_free(std::optional<folder_lock>& lock, const fs::path& folder, int stop) {
  const auto limit = std::chrono::steady_clock::now() + fetch_limit;
  for (bool said = false;; said = true) try {
      fs::create_directories(folder);
      lock.emplace(folder, "a release");
      return;
    } catch (const std::system_error& e) {
      const bool removed = e.code().value() == ENOENT, held = e.code().value() == EWOULDBLOCK;
      if ((!removed && !held) || std::chrono::steady_clock::now() > limit) throw;
      if (held && !said)
        std::cerr << fmt::format("bisect: another process fetches into {}: waiting for its end\n",
                                 folder.string());
      pollfd stopped{stop, POLLIN, 0};
      if (poll(&stopped, 1, 500) > 0) throw interrupted{};
    }
}

/// Beside its folder, which is there when all of it is. Nothing is left where it fails or is interrupted.
void fetch(const std::string& version, const fs::path& folder, int stop) {
  const fs::path beside = folder.parent_path() / (".fetching-" + version), pair = beside / "pair";
  std::optional<folder_lock> lock;
  lock_when_free(lock, beside, stop);
  const auto remove = [](const fs::path* of) {
    std::error_code unseen;
    fs::remove_all(*of, unseen);
  };
  const std::unique_ptr<const fs::path, decltype(remove)> at_end(&beside, remove);
  if (is_fetched(folder)) return;
  fs::remove_all(folder);  // of a run that was killed
  fs::remove_all(pair);
  std::cerr << fmt::format("bisect: fetching {} into {}\n", version, folder.string());
  spawn_options options;
  options.argv = {"/usr/bin/env", "bash", fetch_cublas_script(), version, pair};
  options.timeout = fetch_limit;
  const process_result ended = run_process(options, {}, stop);
  if (ended.how == ending::interrupted) throw interrupted{};
  if (ended.how != ending::exited || ended.exit_code != 0)
    throw usage_error(fmt::format("cuBLAS {} could not be fetched: {}; {}", version,
                                  program_sweep::ended(ended), program_sweep::last_words(ended.stderr_text)));
  fs::rename(pair, folder);
}

}  // namespace

bool is_of_version(const std::string& name, const std::string& version) {
  return name == version || name.starts_with(version + ".");
}

release_source::release_source(const bisect_arguments& arguments, int stop) : stop_(stop) {
  if (!arguments.images.empty()) {
    from_ = "--images";
    for (const std::string& image : arguments.images)
      all_.push_back({.name = image, .cublas = {}, .cublaslt = {}});
  } else if (!arguments.releases.empty()) {
    from_ = fmt::format("--releases {}", arguments.releases.string());
    list_folder(arguments.releases);
  } else {
    from_ = "the package index for this platform";
    list_index(arguments);
  }
}

void release_source::list_index(const bisect_arguments& arguments) {
  keep_ = arguments.keep.empty() ? usual_keep() : fs::absolute(arguments.keep);
  std::vector<std::string> ends = arguments.good;
  ends.push_back(arguments.bad);
  for (const std::string& end : ends)
    if (version_from(end) < version{12})
      throw usage_error(
          fmt::format("'{}' is no release in the package index; give a version from 12.0 on, as 13.1.0.3",
                      one_line(end)));
  for (std::string& name : versions_in_index(stop_))
    all_.push_back({.name = std::move(name), .cublas = {}, .cublaslt = {}});
  std::ranges::stable_sort(all_, is_older);
  std::error_code why;
  if (fs::create_directories(keep_, why); !fs::is_directory(keep_))
    throw usage_error(
        fmt::format("--keep {}: it is no folder, and none can be made", one_line(keep_.string())));
}

void release_source::list_folder(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() && !name.starts_with(std::string(stem) + ".")) continue;
    try {
      release found =
          entry.is_directory() ? release_in(name, entry.path()) : release_of_file(name, entry.path());
      if (version_from(name).empty()) found.name = version_said_by(found.cublas);
      all_.push_back(std::move(found));
    } catch (const usage_error& why) {
      std::cerr << fmt::format("bisect: {}; it is left out\n", why.what());
    }
  }
  std::ranges::stable_sort(all_, is_older);
  // libcublas.so, libcublas.so.13 and libcublas.so.13.1.0 are one.
  all_.erase(std::unique(all_.begin(), all_.end(),
                         [](const release& a, const release& b) { return a.cublas == b.cublas; }),
             all_.end());
  const auto twice = std::adjacent_find(all_.begin(), all_.end(),
                                        [](const release& a, const release& b) { return a.name == b.name; });
  if (twice != all_.end())
    throw usage_error(fmt::format("{} and {} are both {}", twice->cublas.string(),
                                  (twice + 1)->cublas.string(), twice->name));
  if (all_.empty())
    throw usage_error(
        fmt::format("{} holds no release: no folder and no file in it is a {}.*", folder.string(), stem));
}

std::size_t release_source::index_of(const std::string& option, const std::string& name) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].name == name) return i;
    if (is_of_version(all_[i].name, name)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  std::vector<std::string> near;
  const release asked{.name = name, .cublas = {}, .cublaslt = {}};
  const auto after = !version_from(name).empty() && from_ != "--images"
                         ? std::lower_bound(all_.begin(), all_.end(), asked, is_older)
                         : all_.end();
  if (after != all_.begin()) near.push_back((after - 1)->name);
  for (auto at = after; at != all_.end() && near.size() < 1 + std::max<std::size_t>(1, found.size()); ++at)
    near.push_back(at->name);
  throw usage_error(fmt::format("{} {}: {} of {}; near it: {}", option, one_line(name),
                                found.empty() ? "there is no such release" : "this is not one release", from_,
                                fmt::join(near, ", ")));
}

const release& release_source::ready(std::size_t which) {
  release& r = all_.at(which);
  if (keep_.empty() || !r.cublas.empty()) return r;
  const fs::path folder = keep_ / r.name;
  if (!is_fetched(folder)) fetch(r.name, folder, stop_);
  try {
    r = release_in(r.name, folder);
  } catch (const usage_error& why) {
    throw usage_error(fmt::format("{}; remove it, so that it is fetched again", why.what()));
  }
  return r;
}

}  // namespace cufault
