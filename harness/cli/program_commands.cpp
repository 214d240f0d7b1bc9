// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault inject`, `cufault trace` and `cufault why` are asked for.
#include "harness/cli/command_line.hpp"
#include "harness/cli/doctor.hpp"

#include <fmt/ranges.h>

namespace cufault {
namespace {

/// `COMMAND`, which stands after --: what stands before it is refused. Only for the help is it an option.
void add_command_behind(CLI::App* command, const std::string& example) {
  command->add_option("COMMAND", CLI::callback_t{}, "after --: the command and its arguments")
      ->check([example](const std::string& word) {
        return fmt::format("{} does not stand behind --, as in: {}", word, example);
      });
}

std::vector<std::string> command_behind(const command_line& line, const std::string& example) {
  if (line.behind.empty()) throw usage_error(fmt::format("no command stands behind --, as in: {}", example));
  return line.behind;
}

/// Standard output is the command's.
void add_json_file(CLI::App* command, std::filesystem::path& file, const char* what, const char* schema) {
  command
      ->add_option(
          "--json", file,
          fmt::format("write {} as JSON to FILE, too: standard output is the command's ({}.schema.json)",
                      what, schema))
      ->type_name("FILE")
      ->check(new_file);
}

}  // namespace

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
  return command->add_option("--library", libraries, what + " (can be given again)")
      ->allow_extra_args(false)
      ->type_name(fmt::format("NAME:{{{}}}", fmt::join(injectable_libraries(), ",")))
      ->check(not_empty);
}

void add_inject(command_line& line) {
  const std::string example = "cufault inject --fail cuMemAlloc_v2=OUT_OF_MEMORY -- ./program";
  const auto said = std::make_shared<inject_arguments>();
  CLI::App* command =
      line.command("inject", "Run a command whose calls of the driver and of libraries fail as rules say",
                   inject_help() +
                       "Without --rules and --fail, CUFAULT_RULES and CUFAULT_FAIL of the environment hold.\n"
                       "At the end a line on standard error tells of each rule that never acted, and why.\n"
                       "Exit codes: the command's; 2 wrong use, or a wrong rule; 3 rules acted less often "
                       "than --require says; 126 it cannot be executed; 127 it is not found.",
                   [said, example, &line] {
                     said->command = command_behind(line, example);
                     return inject(*said);
                   });
  command->add_option("--rules", said->rules, "JSON rules, read again whenever the file changes")
      ->type_name("FILE")
      ->check(not_empty);
  command
      ->add_option("--faultinj", said->faultinj,
                   "in place of --rules: a configuration file of NVIDIA's faultinj (cudaDriverFaults, "
                   "cudaRuntimeFaults)")
      ->type_name("FILE")
      ->check(not_empty);
  command
      ->add_option("--fail", said->fail,
                   "FUNCTION[@STACK][:N[+]]=CODE: the N-th call, with + each later one too, else all; STACK: "
                   "only calls of the call stack of this hash, as a log or `cufault sweep` tells it; CODE: a "
                   "status by its name or number")
      ->allow_extra_args(false)
      ->type_name("TEXT")
      ->check(not_empty);
  command
      ->add_option("--log", said->log,
                   "JSON lines of injections and counts (default: injections to standard error)")
      ->type_name("FILE")
      ->check(not_empty);
  command
      ->add_option(
          "--require", said->require,
          "exit with 3 where rules acted less often than N, in all processes together; 0: tell nothing, "
          "and become the command")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60))
      ->type_name("N");
  command->add_flag("--lenient", said->lenient, "run the command without injection if a rule is wrong");
  add_intercepted_libraries(
      command, said->libraries,
      "preload what intercepts this library, for rules that are set or added to the file after the start; "
      "libraries that rules name at the start need no such option");
  add_command_behind(command, example);
}

void add_trace(command_line& line) {
  const std::string example = "cufault trace -- ./program";
  const auto said = std::make_shared<trace_arguments>();
  CLI::App* command = line.command(
      "trace", "Run a command and tell its driver calls, allocations and environment look-ups, by library",
      "Exit codes: the command's; 128 and N where signal N ended it; 2 wrong use; 126 it cannot be executed; "
      "127 it is not found.",
      [said, example, &line] {
        said->command = command_behind(line, example);
        return trace_command(*said);
      });
  command
      ->add_option("--chrome", said->chrome,
                   "the driver calls of all its processes as a Chrome trace, which Perfetto opens; each call "
                   "that libcufault.so sees then writes a line")
      ->type_name("FILE")
      ->check(not_empty);
  add_json_file(command, said->json, "what it tells", "trace");
  add_intercepted_libraries(command, said->libraries, "calls of this library, too");
  add_command_behind(command, example);
}

void add_why(command_line& line) {
  const std::string example = "cufault why -- python3 train.py";
  const auto said = std::make_shared<why_arguments>();
  CLI::App* command = line.command(
      "why", "Run a command; if it fails, say which call failed, and what caused it",
      "The command runs unchanged, with what it prints. On standard error follow, where it failed, at most "
      "25 lines: its own line of code, the library call that failed, the driver call that failed inside it "
      "with the driver's words (CUDA 12.9 or newer), up to three causes, what clears the first, and the "
      "folder of the full log. Where it succeeded, one line. Several processes each have a file in the "
      "folder; the one that failed first is named.\n"
      "SIGQUIT (Ctrl-\\) prints in which calls its threads wait. The command goes on, and ignores SIGQUIT "
      "itself.\n"
      "Exit codes: the command's; 128 and N where signal N ended it; 2 wrong use; 126 it cannot be executed; "
      "127 it is not found.",
      [said, example, &line] {
        said->command = command_behind(line, example);
        return why_command(*said);
      });
  add_seconds(command, "--after", said->after,
              "print in which calls threads wait when the command has run so long, as 60s; it goes on");
  command->add_flag(
      "--no-preload", said->no_preload,
      "preload nothing: the driver's own log (CUDA_LOG_FILE) alone, for containers with an older C library");
  add_json_file(command, said->json, "the answer", "why");
  command->add_flag("--verbose,-v", said->verbose,
                    "driver calls, allocations and environment look-ups, too, as cufault trace");
  add_command_behind(command, example);
}

}  // namespace cufault
