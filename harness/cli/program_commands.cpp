// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault inject`, `cufault trace`, `cufault why` and `cufault bisect` are asked for.
#include "harness/cli/bisect.hpp"
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

void add_bisect(command_line& line) {
  struct given {
    bisect_arguments asked;
    std::vector<CLI::Option*> of_commands;
  };
  const auto said = std::make_shared<given>();
  CLI::App* command = line.command(
      "bisect", "Find the release of cuBLAS that broke an arm or a command, and the one that mended it",
      "It tries releases between --good and --bad, half of those that are left each time. --good older than "
      "--bad: the first bad release. --good newer: the first good one. One of each: both.\n"
      "The controls of an arm's case must pass on each release. A command has --control, or is run on the "
      "good release again at the end. A release is skipped if its control fails, if it has no code for this "
      "GPU, or if its outcome is neither that of --good nor that of --bad. If skipped releases stand at the "
      "change, the answer is a range.\n"
      "An arm that does not race is run once on each release. Else the ends are run until they differ by "
      "more than chance, and each release until the decision is wrong with a probability of at most --error, "
      "given the rates at the ends.\n"
      "Of a command the outcome is its exit code; with --ok, whether that accepts it; with --text, also "
      "whether it prints the pattern. cuBLAS and cuBLASLt are preloaded into each process that keeps the "
      "environment. It is an error if such a process loads another libcublas.so or libcublasLt.so. A cuBLAS "
      "that is linked statically, and a process that does not keep the environment, are not noticed. --ok "
      "gets what it gets in cufault sweep, with the outcome in CUFAULT_RUN_OUTCOME.\n"
      "CUFAULT_ENGINE starts a container of --images (default: docker run --rm --gpus all); a folder that "
      "the command needs is mounted there.\n"
      "Exit codes: 0 found; 2 bad input, or the ends are not as said; 3 found, up to releases that were "
      "skipped; 77 the arm needs a GPU, and there is none; 130 interrupted.",
      [said, &line] {
        bisect_arguments& asked = said->asked;
        asked.command = line.behind;
        asked.words = line.recorded_words();
        if (asked.command.empty() == asked.arm.empty())
          throw usage_error(
              "give either an arm (CASE/ARM) or a command after --, as in: cufault bisect --good 13.1.0.3 "
              "--bad 13.7.0.27 -- ./program");
        if (asked.good.size() > 2)
          throw usage_error("--good is given at most twice: older and newer than --bad");
        for (const CLI::Option* option : said->of_commands)
          if (asked.command.empty() && option->count() > 0)
            throw usage_error(
                fmt::format("{} is of a command, and none stands after --", option->get_name()));
        return bisect_releases(asked);
      });
  bisect_arguments& asked = said->asked;
  command
      ->add_option("--good", asked.good,
                   "a release that is good: a version, or an image; given twice: one on each side of --bad")
      ->allow_extra_args(false)
      ->type_name("RELEASE")
      ->required();
  command->add_option("--bad", asked.bad, "a release that is bad")->type_name("RELEASE")->required();
  command->add_option("ARM", asked.arm, "CASE/ARM, as in `cufault list CASE`")->check(not_empty);
  CLI::Option* const releases =
      command
          ->add_option("--releases", asked.releases,
                       "take the releases of this folder: folders that each hold a libcublas.so.N and its "
                       "libcublasLt, or such files (default: the package index)")
          ->type_name("FOLDER")
          ->check(CLI::ExistingDirectory);
  CLI::Option* const images =
      command
          ->add_option("--images", asked.images,
                       "take the releases in these container images, from the oldest to the newest: A,B,C")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("IMAGES")
          ->check(not_empty)
          ->excludes(releases);
  command
      ->add_option(
          "--keep", asked.keep,
          "folder in which releases from the package index stay (default: cufault/cublas in XDG_CACHE_HOME)")
      ->type_name("FOLDER")
      ->check(in_existing_folder)
      ->excludes(releases)
      ->excludes(images);
  const auto of_command = [&](CLI::Option* option) { said->of_commands.push_back(option->check(not_empty)); };
  of_command(command
                 ->add_option("--ok", asked.ok,
                              "a shell command that says by its exit code whether a run was acceptable")
                 ->type_name("COMMAND"));
  of_command(command
                 ->add_option("--text", asked.text,
                              "a regular expression; whether the command prints it (in the first 1 KB of a "
                              "line) belongs to the outcome")
                 ->type_name("PATTERN"));
  of_command(
      command->add_option("--control", asked.control, "a shell command that must exit with 0 on each release")
          ->type_name("COMMAND"));
  said->of_commands.push_back(
      add_seconds(command, "--timeout", asked.timeout, "of each run of the command (default: 10m)"));
  said->of_commands.push_back(command->add_flag(
      "--once", asked.once, "the command's outcome does not vary: one run decides a release"));
  command->add_option("--error", asked.error, "probability of a wrong decision, of each release")
      ->check(CLI::Range(1e-9, 0.25))
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789.eE+-") == text.npos ? "" : "expected a number";
      })
      ->capture_default_str();
  command
      ->add_option("--most", asked.most,
                   "at most so many trials of a release, and twice as many of --good and --bad")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--device", asked.device, "CUDA device of an arm")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_wait(command, asked.wait_seconds);
  add_form(command, asked, "bisection");
  command->add_option("COMMAND", CLI::callback_t{}, "after --: a command and its arguments, in place of ARM");
}

}  // namespace cufault
