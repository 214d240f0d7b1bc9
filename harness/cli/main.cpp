// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/cli/commit.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/terminal.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/judge.hpp"
#include "reports/printers/run_report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace cufault;

constexpr const char* about =
    "Says why a call of a CUDA library failed, what clears it, and what another driver or library changes, "
    "by failures that it provoked on GPUs and recorded.";

/// As `section` names them.
constexpr std::array asked{"My program failed:",       "A new driver, toolkit or GPU: what changed?",
                           "A gate every night:",      "Which version is broken?",
                           "Does my code survive it?", "More:"};

/// Those for people.
std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names.push_back(c->get_name());
  return names;
}

/// The commands by question. Not `whole`: without what the less frequent ones do.
std::string commands_by_question(const CLI::App& app, bool whole) {
  std::string text;
  const std::vector<register_command> all = registered_commands();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    text += fmt::format("\n{}\n", asked[i]);
    std::vector<std::string> others;
    for (const auto& [name, add, where] : all) {
      if (where.hidden || static_cast<std::size_t>(where.asked) != i) continue;
      if (whole || where.in_short)
        text +=
            fmt::format("  {:<{}}  {}\n", name, whole ? 16 : 7, app.get_subcommand(name)->get_description());
      else
        others.emplace_back(name);
    }
    if (!others.empty()) text += fmt::format("  also: {}\n", fmt::join(others, ", "));
  }
  return text;
}

class help_by_question : public CLI::Formatter {
  [[nodiscard]] std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    return app->get_parent() == nullptr ? commands_by_question(*app, true)
                                        : Formatter::make_subcommands(app, mode);
  }
};

constexpr const char* all_codes =
    "Exit codes: 0 as expected; 1 gate failed, or differences found; 2 unresolved or bad input; 77 nothing "
    "could be provoked here; 130 interrupted; 3 of run: a gate without a record of this stack, of inject: "
    "rules acted too rarely, of sweep: some calls were left out, of bisect: several releases remain; 4 of "
    "explain: no failure, one that is not understood, or no cause of it known. Each command's own: cufault "
    "COMMAND --help.\n"
    "With --json an error is JSON on standard output, too (failure.schema.json). Schemas lie in "
    "share/cufault/schemas, in the source in reports/schemas.\n"
    "Environment: CUFAULT_REQUIRE_GPU=1 makes a missing GPU a failure; CUFAULT_FLOOR=N sets the floor; "
    "CUFAULT_OTHER_CUBLAS=FOLDER is a second cuBLAS for arms that mix two. CUFAULT_BASELINE=FOLDER has the "
    "recorded stacks that runs are judged by first (default: cufault/baseline in XDG_DATA_HOME, or in "
    "~/.local/share). CUFAULT_DRIVER_LOG=off: trials do not listen to the driver's error log.\n"
    "Under ctest, CUFAULT_TIER, CUFAULT_SHUFFLE=1, CUFAULT_CUBLAS, CUFAULT_CUBLASLT and CUFAULT_PYTHON stand "
    "for the options of those names.";

/// Of an option, a command below this one, a value of a set, or a file that is not there.
std::string meant_of(const CLI::App& command, const std::string& said) {
  std::vector<std::string> names = names_of_commands(command);
  for (const std::string& word : command.remaining(true)) {
    for (const CLI::Option* option : command.get_options())
      if (!option->get_group().empty() && !option->get_lnames().empty())
        names.push_back("--" + option->get_lnames().front());
    return did_you_mean(word.substr(0, word.find('=')), names);
  }
  constexpr std::size_t longest = 4096;  // std::regex recurses once for each character
  if (said.size() > longest) return {};
  std::smatch found;
  static const std::regex value("(\\S+) not in \\{(.*)\\}"), file("does not exist: (.*)");
  if (std::regex_search(said, found, value)) {
    std::istringstream all(found[2]);
    for (std::string name; std::getline(all, name, ',');) names.push_back(name);
    return did_you_mean(found[1].str(), names);
  }
  if (!std::regex_search(said, found, file)) return {};
  const std::filesystem::path asked(found[1].str());
  std::error_code unseen;
  std::filesystem::directory_iterator beside(asked.has_parent_path() ? asked.parent_path() : ".", unseen);
  for (; beside != std::filesystem::directory_iterator(); beside.increment(unseen))
    names.push_back((asked.parent_path() / beside->path().filename()).string());
  return did_you_mean(asked.string(), names);
}

/// In one line.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  if (auto asked = app.get_subcommands(); !asked.empty()) {
    const CLI::App* command = asked.front();
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    return fmt::format("{}{}; see cufault {} --help", error.what(), meant_of(*command, error.what()),
                       asked.front()->get_name());
  }
  const auto unknown = app.remaining(), names = names_of_commands(app);
  return fmt::format("{}; see cufault --help", unknown.empty()
                                                   ? "no command was given"
                                                   : fmt::format("there is no command {}{}", unknown.front(),
                                                                 did_you_mean(unknown.front(), names)));
}

int dispatch(int argc, char** argv) {
  command_line line(about, {argv, argv + argc});
  line.app.formatter(std::make_shared<help_by_question>());
  line.app.footer(all_codes);
  line.app.set_version_flag("-v,--version", "cufault " + this_build.text());
  if (argc <= 1) {
    fmt::print(std::cout, "{}\n{}\ncufault COMMAND --help says how; cufault --help, what each does.\n", about,
               commands_by_question(line.app, false));
    return exit_unresolved;
  }
  if (line.words[1] == "help") {  // help COMMAND: COMMAND --help
    line.words.erase(line.words.begin() + 1);
    line.words.emplace_back("--help");
  }
  // Verbatim: CLI11 would take "[a,b]" apart.
  auto end = line.words.end();
  if (std::ranges::any_of(line.run_another,
                          [&](const CLI::App* c) { return c->check_name(line.words[1]); })) {
    end = std::ranges::find(line.words, "--");
    if (end != line.words.end()) line.behind.assign(end + 1, line.words.end());
  }
  try {
    line.app.parse(std::vector<std::string>(std::reverse_iterator(end), line.words.rend() - 1));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0 && line.app.remaining().empty())
      return line.app.exit(e);  // help, or the version
    throw usage_error(what_is_wrong(line.app, e));
  }
  return line.chosen();
}

constexpr const char* unwritten = "standard output could not be written";
constexpr int exit_unread = 128 + SIGPIPE;  // as a shell shows a process that this signal ended

/// Whether the reader of standard output has closed it.
bool nobody_reads() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// Whether one of these is among the words, in front of --. Of trace and why, --json names a file.
bool asks_for(std::span<char*> words, std::initializer_list<std::string_view> any) {
  if (words.size() > 1 && (words[1] == std::string_view("trace") || words[1] == std::string_view("why")))
    return false;
  return std::ranges::any_of(
      words.begin(), std::ranges::find(words, std::string_view("--")),
      [&](std::string_view word) { return std::ranges::count(any, word.substr(0, word.find('='))) > 0; });
}

/// Says on standard error why nothing came of it, and where JSON was asked for, there, too.
int fail(int code, const std::string& why, std::span<char*> words) {
  std::cerr << "cufault: " << why << '\n';
  if (asks_for(words, {"--json"})) std::cout << json_of_failure(code, why) << std::endl;
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed standard descriptor would be the next file that is opened: a journal must not get the progress text. What is written to a
  // closed standard output fails, as it would have.
  for (int fd = 0; fd <= 2; ++fd) {
    const int access = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", access) != fd) return exit_unresolved;
  }
  const std::span words(argv, static_cast<std::size_t>(argc));
  const auto errors = keep_to_width(std::cerr);
  const bool of_programs = asks_for(words, {"--json", "--markdown", "--format", "--prometheus"});
  const auto output = of_programs ? nullptr : keep_to_width(std::cout);
  try {
    const int code = dispatch(argc, argv);
    std::cout << std::flush;
    if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      if (nobody_reads()) return exit_unread;
      throw usage_error(unwritten);
    }
    return code;
  } catch (const interrupted&) {
    return fail(exit_interrupted, "interrupted before anything ran", words);
  } catch (const usage_error& e) {
    return fail(e.exit_code, e.what(), words);
  } catch (const std::exception& e) {
    const auto* failed = dynamic_cast<const std::system_error*>(&e);
    if (failed != nullptr && failed->code() == std::errc::broken_pipe && nobody_reads()) return exit_unread;
    if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
      return fail(exit_unresolved, "too little memory: raise the limit (ulimit -v), or name fewer records",
                  words);
    return fail(exit_unresolved, std::ferror(stdout) != 0 ? unwritten : e.what(), words);
  }
}
