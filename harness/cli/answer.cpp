// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"

#include "harness/cli/paths.hpp"
#include "harness/system/child.hpp"
#include "harness/system/process.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <vector>

namespace cufault {
namespace {

/// Whether a program that a user named is one: its exit code would be taken for an answer.
bool is_python(const std::string& path) {
  spawn_options asked;
  asked.argv = {path, "--version"};
  const process_result said = run_process(asked, {});
  prctl(PR_SET_CHILD_SUBREAPER, 0);  // run_process() made this process one, and a reader would stay one
  return said.how == ending::exited && said.exit_code == 0 &&
         (said.stdout_text + said.stderr_text).starts_with("Python ");
}

nlohmann::json files() {
  nlohmann::json all{{"program", own_path()},
                     {"table", table_file()},
                     {"records", default_recorded()},
                     {"claims", claims_file()},
                     {"explain", explain_folder()},
                     {"known_issues", known_issues_file()},
                     {"failures", failures_file()},
                     {"release_notes", release_notes_file()},
                     {"fetch_cublas", fetch_cublas_script()}};
  for (const auto& folder : snippet_folders()) all["snippets"].push_back(folder);
  return all;
}

nlohmann::json value_of(const CLI::Option& o) {
  const std::string type = o.get_type_name();
  if (o.get_expected_max() == 0) return o.as<bool>();
  if (o.get_items_expected_max() > 1) return o.as<std::vector<std::string>>();
  if (type.starts_with("INT")) return o.as<std::int64_t>();
  if (type.starts_with("FLOAT")) return o.as<double>();
  return o.as<std::string>();
}

std::vector<std::string> reader_of(const std::string& reader, nlohmann::json said) {
  said["files"] = files();
  return {interpreter(),
          "-E",
          "-B",
          "-X",
          "utf8",
          (answers_folder() / "start.py").string(),
          (answers_folder() / (reader + ".py")).string(),
          said.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)};
}

}  // namespace

std::string interpreter() {
  const std::string given = variable("CUFAULT_PYTHON");
  try {
    std::string path = program_path(given.empty() ? "python3" : given);
    if (!given.empty() && !is_python(path)) throw usage_error(path + " is no Python");
    return path;
  } catch (const usage_error& error) {
    throw usage_error(fmt::format(
        "this command needs Python 3.9 or newer: {}; {}", error.what(),
        given.empty() ? "install python3, or set CUFAULT_PYTHON to one" : "CUFAULT_PYTHON names it"));
  }
}

nlohmann::json answered(const std::string& reader, const nlohmann::json& options,
                        const std::vector<std::string>& names) {
  spawn_options started;
  started.argv = reader_of(reader, {{"command", ""}, {"options", options}});
  started.argv.insert(started.argv.end(), names.begin(), names.end());
  started.timeout = std::chrono::hours(1);
  started.keep_output = std::size_t{1} << 30;
  const process_result said = run_process(started, {});
  if (said.how == ending::exited && said.exit_code == 0)
    if (auto json = nlohmann::json::parse(said.stdout_text, nullptr, false); !json.is_discarded())
      return json;
  const std::string why = one_line(said.stderr_text.substr(0, said.stderr_text.find('\n')));
  throw usage_error(why.starts_with("cufault: ") ? why.substr(9) : fmt::format("{}: {}", reader, why));
}

int answer(const std::string& reader, const CLI::App& command, const command_line* line) {
  auto options = nlohmann::json::object();
  std::vector<std::string> names;
  for (const CLI::Option* const o : command.get_options()) {
    if (o->count() == 0 && o->get_default_str().empty()) continue;
    if (o->get_lnames().empty())
      names.insert(names.end(), o->results().begin(), o->results().end());
    else
      options[o->get_lnames().front()] = value_of(*o);
  }
  nlohmann::json said{{"command", command.get_name()}, {"options", options}};
  if (line != nullptr) {
    said["line"] = line->recorded_words();
    names.emplace_back("--");
    names.insert(names.end(), line->behind.begin(), line->behind.end());
  }
  std::vector<std::string> words = reader_of(reader, std::move(said));
  words.insert(words.end(), names.begin(), names.end());
  std::cout.flush();
  execv(words.front().c_str(), pointers_to(words).data());
  throw usage_error(fmt::format("{}: cannot be run: {}", words.front(), std::strerror(errno)));
}

CLI::App* add_bare_answer(command_line& line, const char* name, const char* what, const std::string& codes) {
  const auto said = std::make_shared<records_to_read>();
  CLI::App* const command =
      line.command(name, what, codes, [said, name](CLI::App& asked) { return answer(name, asked); });
  add_to_read(command, *said);
  return command;
}

CLI::App* add_answer(command_line& line, const char* name, const char* what, const std::string& codes,
                     const char* schema) {
  CLI::App* const command = add_bare_answer(line, name, what, codes);
  add_passed_form(command, schema);
  return command;
}

void add_passed_records(CLI::App* command) {
  add_passed_on<std::vector<std::string>>(
      command, "--records", "RECORD", "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
}

void add_passed_form(CLI::App* command, const char* schema) {
  CLI::Option* const json =
      add_passed_flag(command, "--json", fmt::format("as JSON ({}.schema.json)", schema));
  CLI::Option* const markdown = add_passed_flag(command, "--markdown", "as Markdown");
  json->excludes(markdown);
  markdown->excludes(json);
}

CLI::Option* add_passed_flag(CLI::App* command, const std::string& name, const std::string& what) {
  return command->add_flag_function(
      name, [](std::int64_t) {}, what);
}

}  // namespace cufault
