// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"

#include "harness/cli/inject.hpp"

#include <fmt/ranges.h>

#include <cstdio>
#include <tuple>

namespace cufault {
namespace {

std::vector<register_command>& registry() {
  static std::vector<register_command> all;
  return all;
}

/// What an absent command says in place of a summary, and to whoever calls it.
std::pair<const char*, std::string> absence_of(const std::string& name, needs unmet) {
  if (unmet == needs::source_tree)
    return {"(in a build of the source tree: ci/suite)",
            fmt::format("cufault {0} is not in this package; a build of the source tree has it: ci/suite, "
                        "then build/bin/cufault {0}",
                        name)};
  if (unmet == needs::cuda) return {"(in a build with CUDA: ci/suite)", build_it_with_cuda};
  return {"(in a build with cuda.h: ci/suite --cuda)", build_it_with_headers};
}

}  // namespace

register_command::register_command(const char* command, std::function<void(command_line&)> adds, in_help at,
                                   std::initializer_list<needs>)
    : name(command), add(std::move(adds)), where(at) {
  registry().push_back(*this);
}

register_command::register_command(const char* command, needs unmet, in_help at)
    : register_command(
          command,
          [command, unmet, at](command_line& line) {
            const auto [what, why] = absence_of(command, unmet);
            CLI::App* absent = line.command(command, what, why, [] { return 0; });
            absent->preparse_callback([&line, why = why](std::size_t) {
              const auto asks_for_help = [](const std::string& word) {
                return word == "-h" || word == "--help";
              };
              if (std::ranges::none_of(line.words, asks_for_help)) throw usage_error(why);
            });
            if (at.hidden) absent->group("");
          },
          at) {}

std::vector<register_command> registered_commands() {
  std::vector<register_command> all = registry();
  std::ranges::sort(all, {}, [](const register_command& c) {
    return std::tuple(c.where.hidden, c.where.asked, c.where.place, std::string_view(c.name));
  });
  return all;
}

double seconds_of(const char* option, const std::string& text) {
  double number = 0;
  char unit = 's', rest = 0;
  const int read = std::sscanf(text.c_str(), "%lf%c%c", &number, &unit, &rest);
  const double factor = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  const double seconds = number * factor;
  if (read < 1 || read > 2 || !(seconds > 0 && seconds <= 1e6))
    throw usage_error(fmt::format("{} {}: give a time, as in 90s, 10m or 2h", option, text));
  return seconds;
}

CLI::Option* add_intercepted_libraries(CLI::App* command, std::vector<std::string>& libraries,
                                       const std::string& what) {
  const std::vector<std::string> libraries_here =
      injectable_libraries == nullptr ? std::vector<std::string>() : injectable_libraries();
  return add_named(command, "--library", libraries,
                   fmt::format("NAME:{{{}}}", fmt::join(libraries_here, ",")), what + " (can be given again)")
      ->allow_extra_args(false)
      ->check(not_empty);
}

void add_command_behind(command_line& line, CLI::App* command, const std::string& example) {
  line.run_another.insert(command);
  command->add_option("COMMAND", CLI::callback_t{}, "after --: the command and its arguments")
      ->check([example](const std::string& word) {
        return fmt::format("{} does not stand behind --, as in: {}", word, example);
      });
}

std::vector<std::string> command_behind(const command_line& line, const std::string& example) {
  if (line.behind.empty()) throw usage_error(fmt::format("no command stands behind --, as in: {}", example));
  return line.behind;
}

void add_json_file(CLI::App* command, std::filesystem::path& file, const char* what, const char* schema) {
  add_named(command, "--json", file, "FILE",
            fmt::format("write {} as JSON to FILE, too: standard output is the command's ({}.schema.json)",
                        what, schema))
      ->check(new_file);
}

}  // namespace cufault
