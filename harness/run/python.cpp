// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/python.hpp"

#include "harness/model/errors.hpp"
#include "harness/run/lanes.hpp"
#include "harness/system/library_file.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/frameworks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

const python_framework& named(const std::string& family) {
  const auto* const found = std::ranges::find(python_frameworks, family, &python_framework::name);
  if (found == std::end(python_frameworks)) throw std::out_of_range("no framework is called " + family);
  return *found;
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

/// Whether a distribution of this name has the framework. CuPy's names the toolkit: cupy-cuda13x.
bool has_framework(const std::string& name, const python_framework& f) {
  return name == f.package || (f.name == "cupy" && name.starts_with("cupy-"));
}

/// Describes the end of a process that did not answer.
std::string how_it_ended(const process_result& p) {
  const std::string how = p.how == ending::timed_out   ? "has not answered in time (--import-timeout)"
                          : p.how == ending::signalled ? "died of " + signal_name(p.signal)
                                                       : fmt::format("exited with {}", p.exit_code);
  constexpr std::size_t longest = 300;
  const std::string words =
      last_line(p.stderr_text).substr(0, longest);  // where an interpreter names its error
  return words.empty() ? how : how + ": " + words;
}

}  // namespace

std::vector<python_environment> python_environment::all(const std::vector<std::filesystem::path>& pythons,
                                                        const std::filesystem::path& scripts,
                                                        const std::set<std::string>& families, int device,
                                                        int stop, std::chrono::milliseconds patience) {
  std::vector<python_environment> found;
  for (const std::filesystem::path& python : pythons)
    found.push_back(python_environment(python, scripts, stop, patience));
  import_all(found, families, device, stop);
  return found;
}

python_environment::python_environment(const std::filesystem::path& python,
                                       const std::filesystem::path& scripts, int stop,
                                       std::chrono::milliseconds patience)
    : python_(as_a_shell_finds(python)), script_(scripts / "run_trials.py"), patience_(patience) {
  // Checks the program before it gets a script, which another program might misread.
  std::string said, wrong = ask({}, said, stop);
  if (wrong.empty() && !said.starts_with("Python 3.")) wrong = "its --version is '" + first_line(said) + "'";
  if (wrong.empty()) wrong = ask({"probe"}, said, stop);
  if (wrong.empty()) {
    *found_ = nlohmann::json::parse(said, nullptr, false);
    if (!found_->is_object()) wrong = "the process that looks at its packages said nothing";
  }
  if (!wrong.empty())
    throw input_error(fmt::format("{} is no usable Python 3: {}; give the path of an environment's Python",
                                  python.string(), wrong));
}

/// Imports in parallel, because an import takes seconds.
void python_environment::import_all(std::span<python_environment> all, const std::set<std::string>& families,
                                    int device, int stop) {
  std::vector<std::pair<python_environment*, std::string>> there;
  for (python_environment& each : all) {
    const nlohmann::json absent = each.found_->value("absent", nlohmann::json::array());
    for (const std::string& family : families)
      if (std::find(absent.begin(), absent.end(), family) == absent.end())
        there.emplace_back(&each, family);
      else
        each.absent_[family] = fmt::format("{} has no {}", each.python_.string(), named(family).title);
  }
  if (there.empty()) return;
  lanes imports(there.size(), [&](const std::string& request, int stopped) {
    const auto& [python, family] = there.at(std::stoul(request));
    std::string said;
    const std::string failed =
        python->ask({"probe-import", family, "--device", std::to_string(device)}, said, stopped);
    return dump_json({{"failed", failed}, {"said", said}});
  });
  std::map<std::size_t, std::size_t> asked;
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::size_t lane = imports.idle().value();
    asked[lane] = i;
    imports.ask(lane, std::to_string(i));
  }
  while (imports.busy()) {
    const auto answer = imports.next(stop);
    if (!answer) throw interrupted{};
    const nlohmann::json report = nlohmann::json::parse(answer->text, nullptr, false);
    const std::string failed = report.is_object() ? report.value("failed", std::string()) : answer->died;
    const nlohmann::json told = nlohmann::json::parse(
        report.is_object() ? report.value("said", std::string()) : std::string(), nullptr, false);
    const auto& [python, family] = there.at(asked.at(answer->lane));
    const python_framework& f = named(family);
    std::string& wrong = python->imports_[family];
    if (!failed.empty() || !told.is_object())
      wrong =
          fmt::format("the process that imports {} {}", f.package, failed.empty() ? "said nothing" : failed);
    else if (told.contains("error"))
      wrong = told.value("error", std::string());
    else if (const std::string why = told.value("no_gpu", std::string()); !why.empty())
      python->no_gpu_[family] = fmt::format("{} has no GPU: {}", f.title, why);
    if (wrong.empty()) python->take_identity(f, told.value("is", nlohmann::json::object()));
  }
}

/// What was imported stands for what the metadata say.
void python_environment::take_identity(const python_framework& f, const nlohmann::json& is) {
  (*found_)["frameworks"][std::string(f.name)] = is;
  if (!is.contains("metadata")) return;
  for (auto& [name, version] : (*found_)["packages"].items())
    if (has_framework(name, f)) version = is["version"];
}

/// `said`: the process's report; without words, its version. Returns "" if it ended well, else how it ended.
std::string python_environment::ask(const std::vector<std::string>& words, std::string& said,
                                    int stop) const {
  spawn_options options;
  options.argv = words.empty() ? std::vector<std::string>{python_, "--version"} : command(words);
  options.timeout = patience_;
  // Keeps JAX from taking all memory of the GPU.
  options.environment = {{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};
  said.clear();
  try {
    const process_result ended = run_process(
        options, [&](std::string_view bytes) { said += bytes; }, stop);
    if (ended.how == ending::interrupted) throw interrupted{};
    if (words.empty()) said = ended.stdout_text + ended.stderr_text;
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

void python_environment::leave_out(const std::string& family, const std::string& why) {
  imports_.erase(family);
  absent_[family] = why;
}

nlohmann::json python_environment::identity(const std::string& family) const {
  return found_->value(nlohmann::json::json_pointer("/frameworks/" + family), nlohmann::json::object());
}

std::vector<std::string> python_environment::doubts() const {
  std::vector<std::string> lines;
  for (const python_framework& f : python_frameworks) {
    const nlohmann::json is = identity(std::string(f.name));
    std::string line;
    if (is.contains("metadata"))
      line = fmt::format("; its metadata say {}", is["metadata"].get<std::string>());
    for (const auto& folder : is.value("shadowed", nlohmann::json::array()))
      line += fmt::format("; another is in {}", folder.get<std::string>());
    if (!line.empty())
      lines.push_back(fmt::format("{}: imported is {} {} of {}{}", python_.string(), f.package,
                                  is.value("version", std::string("without a version")),
                                  is.value("file", std::string()), line));
  }
  for (const std::string& line : imported_doubts({{"python", *found_}}))
    lines.push_back(fmt::format("{}: {}", python_.string(), line));
  return lines;
}

std::string python_environment::cublas() const {
  for (const python_framework& f : python_frameworks)
    for (const auto& library : identity(std::string(f.name)).value("libraries", nlohmann::json::array()))
      if (const std::filesystem::path path = library.get<std::string>();
          path.filename().string().starts_with("libcublas.so"))
        return path.parent_path();
  return found_->value("cublas", std::string());
}

nlohmann::json python_environment::for_stack() const {
  nlohmann::json kept = *found_;
  kept.erase("absent");
  kept.erase("cublas");
  if (!kept.contains("frameworks")) return kept;
  for (auto& [family, is] : kept["frameworks"].items()) {
    is.erase("inodes");
    nlohmann::json libraries = nlohmann::json::object();
    for (const auto& path : is.value("libraries", nlohmann::json::array())) {
      const nlohmann::json file = library_file(path.get<std::string>());
      libraries[file.value("soname", path.get<std::string>())] = {
          {"path", path}, {"build_id", file.value("build_id", std::string("none"))}};
    }
    is["libraries"] = std::move(libraries);
  }
  return kept;
}

std::map<std::string, std::string> python_environment::keys() const {
  std::map<std::string, std::string> keys;
  const nlohmann::json packages = found_->value("packages", nlohmann::json::object());
  for (const python_framework& f : python_frameworks)
    if (const std::string family(f.name); identity(family).contains("version"))
      keys[family] = release_of(identity(family)["version"]);
    else
      for (const auto& [name, version] : packages.items())
        if (has_framework(name, f) && version.is_string()) keys[family] = release_of(version);
  return keys;
}

std::vector<std::string> python_environment::command(const std::vector<std::string>& words,
                                                     const std::string& family) const {
  std::vector<std::string> all{python_, "-B", script_};  // -B: write no bytecode
  all.insert(all.end(), words.begin(), words.end());
  if (const nlohmann::json is = family.empty() ? nlohmann::json() : identity(family); !is.empty())
    all.insert(all.end(), {"--is", dump_json(is)});
  return all;
}

}  // namespace cufault
