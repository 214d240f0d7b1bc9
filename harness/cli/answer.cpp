// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"

#include "harness/cli/paths.hpp"
#include "harness/system/process.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <system_error>
#include <vector>

namespace cufault {
namespace {

/// By which a Python says what it lacks.
constexpr const char* lacks = R"(import sys
version = "is Python " + sys.version.split()[0]
if sys.version_info < (3, 9):
    sys.exit(version)
try:
    import sqlite3
except ImportError:
    sys.exit(version + ", without sqlite3")
)";

/// CUFAULT_PYTHON, or the python3 of PATH. Throws usage_error for one that is too old.
std::string python_for(const std::string& command) {
  const std::string given = variable("CUFAULT_PYTHON");
  const auto refused = [&](const std::string& why) {
    return usage_error(fmt::format(
        "{} needs Python 3.9 or newer with sqlite3: {}; {}", command, why,
        given.empty() ? "install python3, or set CUFAULT_PYTHON=PATH" : "CUFAULT_PYTHON names another one"));
  };
  std::string path;
  try {
    path = program_path(given.empty() ? "python3" : given);
  } catch (const usage_error& absent) {
    throw refused(absent.what());
  }
  std::string said = "cannot be run";
  try {
    spawn_options asked;
    asked.argv = {path, "-I", "-S", "-c", lacks};
    const process_result answer = run_process(asked, {});
    if (answer.how == ending::exited && answer.exit_code == 0) return path;
    if (const auto end = answer.stderr_text.find_last_not_of('\n'); end != std::string::npos)
      said = one_line(answer.stderr_text.substr(0, end + 1));
  } catch (const std::system_error& error) {
    said = error.code().message();
  }
  throw refused(path + " " + said);
}

/// Becomes PROGRAM.py. It finds this program and what the build made by CUFAULT and CUFAULT_SHARE. Throws usage_error.
[[noreturn]] void become_python(const std::string& command, const std::string& program,
                                std::vector<std::string> words) {
  words.insert(words.begin(), {python_for("cufault " + command), "-B", answers_folder() / (program + ".py")});
  setenv("CUFAULT", own_path().c_str(), 1);
  setenv("CUFAULT_SHARE", share_folder().c_str(), 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 0);  // run_process() made this process one, and it would stay one
  std::cout.flush();
  execv(argv[0], argv.data());
  throw usage_error(fmt::format("{}: {}", words.front(), std::strerror(errno)));
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

int answer(const std::string& name, const CLI::App& command) {
  auto options = nlohmann::json::object();
  std::vector<std::string> records;
  for (const CLI::Option* const o : command.get_options()) {
    if (o->count() == 0) continue;
    const std::vector<std::string> said = o->results();
    if (o->get_lnames().empty())
      records = said;
    else if (o->get_expected_max() == 0)
      options[o->get_lnames().front()] = true;
    else if (o->get_items_expected_max() == 1)
      options[o->get_lnames().front()] = said.front();
    else
      options[o->get_lnames().front()] = said;
  }
  std::vector<std::string> words{nlohmann::json{{"options", options}, {"files", files()}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace)};
  words.insert(words.end(), records.begin(), records.end());
  become_python(name, name, std::move(words));
}

}  // namespace

CLI::App* add_bare_answer(command_line& line, const char* name, const char* what, const std::string& codes) {
  const auto app = std::make_shared<CLI::App*>();
  const auto said = std::make_shared<records_to_read>();
  *app = line.command(name, what, codes, [app, said, name] { return answer(name, **app); });
  add_to_read(*app, *said);
  return *app;
}

CLI::App* add_answer(command_line& line, const char* name, const char* what, const std::string& codes,
                     const char* schema) {
  CLI::App* const command = add_bare_answer(line, name, what, codes);
  CLI::Option* const json =
      add_passed_flag(command, "--json", fmt::format("as JSON ({}.schema.json)", schema));
  CLI::Option* const markdown = add_passed_flag(command, "--markdown", "as Markdown");
  json->excludes(markdown);
  markdown->excludes(json);
  return command;
}

CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& what) {
  return command->add_option(names, CLI::callback_t{}, what)->expected(1)->check(not_empty);
}

CLI::Option* add_passed_flag(CLI::App* command, const std::string& name, const std::string& what) {
  return command->add_flag_function(
      name, [](std::int64_t) {}, what);
}

void add_python_command(command_line& line, const char* name, const char* what, const char* program) {
  const std::string file = program != nullptr ? program : name;
  line.command(name, what, "", [] { return 0; })->preparse_callback([&line, name, file](std::size_t) {
    become_python(name, file, {std::ranges::find(line.words, name) + 1, line.words.end()});
  });
}

}  // namespace cufault
