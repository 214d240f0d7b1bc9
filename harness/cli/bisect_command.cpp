// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault bisect` is asked for.
#include "harness/cli/bisect.hpp"
#include "harness/cli/command_line.hpp"

namespace cufault {

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
  line.run_another.insert(command);
  command->add_option("COMMAND", CLI::callback_t{}, "after --: a command and its arguments, in place of ARM");
}

const register_command bisect_here{
    "bisect", add_bisect, first(section::which_version, 1), {needs::source_tree, needs::cuda_header}};

}  // namespace cufault
