// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/python.hpp"

#include "harness/model/errors.hpp"
#include "harness/run/lanes.hpp"
#include "harness/system/process.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/frameworks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

const python_framework& named(const std::string& family) {
  const auto* const found = std::ranges::find(python_frameworks, family, &python_framework::name);
  if (found == std::end(python_frameworks)) throw std::out_of_range("no framework is called " + family);
  return *found;
}

/// Last line of a program's output: an interpreter names its error there.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  constexpr std::size_t longest = 300;
  return text.substr(text.rfind('\n') + 1).substr(0, longest);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n')).substr(0, 100);
}

/// Release of a Python version without local part, pre-release and patch marks: "2.6.0" for "2.6.0a0+ecf3".
std::string release_of(const std::string& version) {
  std::string release = version.substr(0, version.find_first_not_of("0123456789."));
  while (release.ends_with('.')) release.pop_back();
  return release;
}

/// Describes the end of a process that did not answer.
std::string how_it_ended(const process_result& p) {
  const std::string how = p.how == ending::timed_out   ? "has not answered in time"
                          : p.how == ending::signalled ? "died of " + signal_name(p.signal)
                                                       : fmt::format("exited with {}", p.exit_code);
  const std::string words = last_line(p.stderr_text);
  return words.empty() ? how : how + ": " + words;
}

/// Finds a name without a folder on the PATH, skipping empty elements. Returns the name unchanged if it is not found.
std::filesystem::path on_path(const std::filesystem::path& program) {
  const char* const folders = std::getenv("PATH");
  if (program.has_parent_path() || folders == nullptr) return program;
  std::istringstream in(folders);
  for (std::string folder; std::getline(in, folder, ':');) {
    std::filesystem::path there = std::filesystem::path(folder) / program;
    std::error_code none;
    if (!folder.empty() && std::filesystem::is_regular_file(there, none) && access(there.c_str(), X_OK) == 0)
      return there;
  }
  return program;
}

}  // namespace

python_environment::python_environment(const std::filesystem::path& python,
                                       const std::filesystem::path& scripts,
                                       const std::set<std::string>& families, int device, int stop,
                                       std::chrono::milliseconds patience)
    : python_(on_path(python)), script_(scripts / "run_trials.py"), patience_(patience) {
  std::string wrong, said;
  // Checks the program before it gets a script, which another program might misread.
  spawn_options options;
  options.argv = {python_, "--version"};
  options.timeout = std::chrono::seconds(20);
  try {
    const process_result asked = run_process(options, {}, stop);
    if (asked.how == ending::interrupted) throw interrupted{};
    if (asked.how != ending::exited || asked.exit_code != 0)
      wrong = how_it_ended(asked);
    else if (!asked.stdout_text.starts_with("Python 3."))
      wrong = "its --version is '" + first_line(asked.stdout_text + asked.stderr_text) + "'";
  } catch (const std::system_error& error) {
    wrong = error.what();
  }
  if (wrong.empty()) wrong = ask({"probe"}, std::chrono::seconds(60), said, stop);
  if (wrong.empty()) {
    *found_ = nlohmann::json::parse(said, nullptr, false);
    if (!found_->is_object()) wrong = "the process that looks at its packages said nothing";
  }
  if (!wrong.empty())
    throw input_error(fmt::format("{} is no usable Python 3: {}; give the path of an environment's Python",
                                  python.string(), wrong));
  const nlohmann::json absent = found_->value("absent", nlohmann::json::array());
  std::vector<std::string> there;
  for (const std::string& family : families)
    if (std::find(absent.begin(), absent.end(), family) == absent.end())
      there.push_back(family);
    else
      absent_[family] = fmt::format("{} has no {}", python_.string(), named(family).title);
  if (!there.empty()) import_all(there, device, stop);
}

/// Imports in parallel, because an import takes seconds.
void python_environment::import_all(const std::vector<std::string>& families, int device, int stop) {
  lanes imports(families.size(), [&](const std::string& family, int stopped) {
    nlohmann::json report;
    std::string said;
    report["failed"] =
        ask({"probe-import", family, "--device", std::to_string(device)}, patience_, said, stopped);
    report["said"] = said;
    return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  std::map<std::size_t, std::string> asked;
  for (const std::string& family : families) {
    const std::size_t lane = imports.idle().value();
    asked[lane] = family;
    imports.ask(lane, family);
  }
  while (imports.busy()) {
    const auto answer = imports.next(stop);
    if (!answer) throw interrupted{};
    const nlohmann::json report = nlohmann::json::parse(answer->text, nullptr, false);
    const std::string failed = report.is_object() ? report.value("failed", std::string()) : answer->died;
    const nlohmann::json told = nlohmann::json::parse(
        report.is_object() ? report.value("said", std::string()) : std::string(), nullptr, false);
    const std::string family = asked.at(answer->lane);
    const python_framework& f = named(family);
    std::string& wrong = imports_[family];
    if (!failed.empty() || !told.is_object())
      wrong =
          fmt::format("the process that imports {} {}", f.package, failed.empty() ? "said nothing" : failed);
    else if (told.contains("error"))
      wrong = told.value("error", std::string());
    else if (const std::string why = told.value("no_gpu", std::string()); !why.empty())
      no_gpu_[family] = fmt::format("{} has no GPU: {}", f.title, why);
  }
}

/// Appends the process's report to `said`. Returns "" if it ended well, else how it ended.
std::string python_environment::ask(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                                    std::string& said, int stop) const {
  spawn_options options;
  options.argv = command(words);
  options.timeout = limit;
  // Keeps JAX from taking all memory of the GPU.
  options.environment = {{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};
  try {
    const process_result ended = run_process(
        options, [&](std::string_view bytes) { said += bytes; }, stop);
    if (ended.how == ending::interrupted) throw interrupted{};
    return ended.how == ending::exited && ended.exit_code == 0 ? std::string() : how_it_ended(ended);
  } catch (const std::system_error& error) {
    return error.what();
  }
}

std::string python_environment::why_not(const arm& a) const {
  if (const auto absent = absent_.find(a.framework); absent != absent_.end()) return absent->second;
  if (const auto found = imports_.find(a.framework); found != imports_.end() && !found->second.empty())
    return found->second;
  const auto none = no_gpu_.find(a.framework);
  return a.needs == need::gpu && none != no_gpu_.end() ? none->second : std::string();
}

std::string python_environment::cublas() const {
  return found_->value("cublas", std::string());
}

nlohmann::json python_environment::for_stack() const {
  nlohmann::json kept = *found_;
  kept.erase("absent");
  kept.erase("cublas");
  return kept;
}

std::map<std::string, std::string> python_environment::keys() const {
  std::map<std::string, std::string> keys;
  const nlohmann::json packages = found_->value("packages", nlohmann::json::object());
  for (const python_framework& f : python_frameworks)
    for (const auto& [name, version] : packages.items()) {
      // CuPy's package names the toolkit: cupy-cuda13x.
      const bool is_it = name == f.package || (f.name == "cupy" && name.starts_with("cupy-"));
      if (!is_it || !version.is_string()) continue;
      keys[std::string(f.name)] = release_of(version.get<std::string>());
    }
  return keys;
}

std::vector<std::string> python_environment::command(const std::vector<std::string>& words) const {
  std::vector<std::string> all{python_, "-B", script_};  // -B: write no bytecode
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace cufault
