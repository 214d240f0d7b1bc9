// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"

#include "harness/cli/command_line.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <vector>

namespace cufault {
namespace {

std::string interpreter() {
  const std::string given = variable("CUFAULT_PYTHON");
  try {
    return program_path(given.empty() ? "python3" : given);
  } catch (const usage_error& error) {
    throw usage_error(fmt::format(
        "this command needs Python 3.9 or newer: {}; {}", error.what(),
        given.empty() ? "install python3, or set CUFAULT_PYTHON to one" : "CUFAULT_PYTHON names it"));
  }
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

}  // namespace

CLI::Option* add_passed_on(CLI::App* command, const std::string& names, const std::string& what) {
  return command->add_option(names, CLI::callback_t{}, what)->expected(1)->check(not_empty);
}

int answer(const std::string& reader, const CLI::App& command) {
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
  const std::string python = interpreter(), program = (answers_folder() / (reader + ".py")).string(),
                    given = nlohmann::json{{"options", options}, {"files", files()}}.dump(
                        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::vector<std::string> words{python, "-B", program, given};
  words.insert(words.end(), records.begin(), records.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::cout.flush();
  execv(python.c_str(), pointers.data());
  throw usage_error(fmt::format("{}: cannot be run: {}", python, std::strerror(errno)));
}

}  // namespace cufault
