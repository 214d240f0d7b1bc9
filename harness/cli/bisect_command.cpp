// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault bisect` is asked for; reports/answers/bisect_*.py answer.
#include "harness/cli/answer.hpp"

namespace cufault {

void add_bisect(command_line& line) {
  struct given : print_form {
    std::vector<CLI::Option*> of_commands{};
  };
  const auto said = std::make_shared<given>();
  CLI::App* const command = line.command(
      "bisect",
      "Find the release of cuBLAS or a Python package that broke an arm or a command, and the one that "
      "mended it",
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
      "With --package each release is a virtual environment. Its bin is first in PATH, so python3 is the "
      "environment's. PYTHONPATH is not kept. It is an error if the command loads the package from "
      "elsewhere, or not at all. An environment is skipped if its package cannot be imported, or has another "
      "version than its folder's name says. The answer names packages of an environment that are not in the "
      "version that --package pins.\n"
      "With --pins the packages of BAD whose versions differ are put into GOOD one after another, first what "
      "others require. PYTHONPATH names a folder of links. The search finds the package with which GOOD "
      "becomes bad, and then runs BAD with GOOD's version of that package. A mixture that cannot be imported "
      "is skipped. If the exit code is also that of other failures, --text tells them apart. Exit code 3: "
      "the change lies between mixtures that could not be run, or no package causes it.\n"
      "CUFAULT_ENGINE starts a container of --images (default: docker run --rm --gpus all); a folder that "
      "the command needs is mounted there.\n"
      "Exit codes: 0 found; 2 bad input, or the ends are not as said; 3 found, up to releases that were "
      "skipped; 77 the arm needs a GPU, and there is none; 130 interrupted.",
      [said, &line](CLI::App& asked) {
        if (line.behind.empty() == (asked.count("ARM") == 0))
          throw usage_error(
              "give either an arm (CASE/ARM) or a command after --, as in: cufault bisect --good 13.1.0.3 "
              "--bad 13.7.0.27 -- ./program");
        for (const char* end : {"--good", "--bad"})
          if (asked.count(end) == 0 && asked.count("--pins") == 0)
            throw usage_error(fmt::format("{} is required; see cufault bisect --help", end));
        if (asked.count("--good") > 2)
          throw usage_error("--good is given at most twice: older and newer than --bad");
        for (const CLI::Option* option : said->of_commands)
          if (line.behind.empty() && option->count() > 0)
            throw usage_error(
                fmt::format("{} is of a command, and none stands after --", option->get_name()));
        return answer(asked.count("--pins") > 0      ? "bisect_pins"
                      : asked.count("--package") > 0 ? "bisect_environments"
                                                     : "bisect_releases",
                      asked, &line);
      });
  using texts = std::vector<std::string>;
  add_passed_on<texts>(
      command, "--good", "RELEASE",
      "a release that is good: a version, or an image; given twice: one on each side of --bad");
  add_passed_on(command, "--bad", "RELEASE", "a release that is bad");
  add_passed_on(command, "ARM", "CASE/ARM, as in `cufault list CASE`");
  CLI::Option* const package = add_passed_on(command, "--package", "NAME",
                                             "bisect this Python package, not cuBLAS: torch, 'jax[cuda13]', "
                                             "cupy-cuda13x, or another that has libraries");
  CLI::Option* const releases =
      add_passed_on(command, "--releases", "FOLDER",
                    "take the releases of this folder: folders that each hold a libcublas.so.N and its "
                    "libcublasLt, or such files; with --package, folders that each are a virtual "
                    "environment, as `ci/campaign environments` makes them (default: the package index)")
          ->check(CLI::ExistingDirectory);
  CLI::Option* const images =
      add_passed_on<texts>(
          command, "--images", "IMAGES",
          "take the releases in these container images, from the oldest to the newest: A,B,C")
          ->delimiter(',')
          ->excludes(releases)
          ->excludes(package);
  add_passed_on(command, "--keep", "FOLDER",
                "folder in which releases from the package index stay (default: cufault/cublas in "
                "XDG_CACHE_HOME; with --package, cufault/environments)")
      ->check(in_existing_folder)
      ->excludes(releases)
      ->excludes(images);
  add_passed_on<texts>(command, "--pins", "GOOD BAD",
                       "a good and a bad virtual environment, in place of releases: name the package that "
                       "causes the change; --package says what is imported (default: torch, jax or cupy)")
      ->expected(2)
      ->check(CLI::ExistingDirectory)
      ->excludes("--good")
      ->excludes("--bad")
      ->excludes("--keep")
      ->excludes(releases)
      ->excludes(images);
  const auto of_command = [said, command](const char* name, const char* type, const char* what) {
    return said->of_commands.emplace_back(add_passed_on(command, name, type, what));
  };
  of_command("--ok", "COMMAND", "a shell command that says by its exit code whether a run was acceptable");
  of_command("--text", "PATTERN",
             "a regular expression; whether the command prints it (in the first 1 KB of a line) belongs to "
             "the outcome");
  of_command("--control", "COMMAND", "a shell command that must exit with 0 on each release");
  of_command("--timeout", "TIME", "of each run of the command (default: 10m)")
      ->transform([](const std::string& text) { return fmt::format("{}", seconds_of("--timeout", text)); });
  said->of_commands.push_back(command->add_flag_callback(
      "--once", [] {}, "the command's outcome does not vary: one run decides a release"));
  add_passed_on<double>(command, "--error", "probability of a wrong decision, of each release")
      ->check(CLI::Range(1e-9, 0.25))
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789.eE+-") == text.npos ? "" : "expected a number";
      })
      ->default_str("0.01");
  add_passed_on<int>(command, "--most",
                     "at most so many trials of a release, and twice as many of --good and --bad")
      ->check(CLI::Range(1, 100000))
      ->default_str("50");
  add_passed_on<int>(command, "--device", "CUDA device of an arm")
      ->check(CLI::NonNegativeNumber)
      ->default_str("0");
  add_passed_on<int>(command, "--wait", "seconds to wait for a GPU in use by another cufault")
      ->check(CLI::NonNegativeNumber)
      ->default_str("10");
  add_form(command, *said, "bisection");
  line.run_another.insert(command);
  command->add_option("COMMAND", CLI::callback_t{}, "after --: a command and its arguments, in place of ARM");
}

const register_command bisect_here{
    "bisect", add_bisect, first(section::which_version, 1), {needs::source_tree}};

}  // namespace cufault
