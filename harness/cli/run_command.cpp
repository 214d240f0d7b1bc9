// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault run` is asked for.
#include "harness/cli/command_line.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/system/mps_keeper.hpp"
#include "reports/printers/printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace cufault {
namespace {

/// "0,1" or "all".
void take_devices(const std::string& text, run_arguments& running) {
  running.all_devices = text == "all";
  if (running.all_devices) return;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const bool number = !word.empty() && word.size() < 5 && word.find_first_not_of("0123456789") == word.npos;
    if (!number)
      throw usage_error(fmt::format("--device {}: give numbers of devices, as in 0,1, or all", text));
    const int device = std::stoi(word);
    if (std::ranges::find(running.devices, device) != running.devices.end())
      throw usage_error(fmt::format("--device {}: {} is there twice", text, device));
    running.devices.push_back(device);
  }
  if (running.devices.empty())
    throw usage_error("--device is empty; give numbers of devices, as in 0,1, or all");
  running.where.device = running.devices.front();
}

void add_run(command_line& line) {
  struct given {
    run_arguments running;
    std::string mode = "observe", tier = "full";
    std::filesystem::path baseline;
  };
  const auto said = std::make_shared<given>();
  CLI::App* run = line.command(
      "run", "Run cases: those of the tier, or those named (CASE, FAMILY or CASE/ARM)",
      "Exit codes: 0 as expected; 1 gate failed, or no GPU where one is required; 2 unresolved or bad input; "
      "3 a gate without a record of this stack; 77 nothing could be provoked here; 130 interrupted.\n"
      "A gate names each reason why it does not exit with 0. Arms that need a GPU are no failure where there "
      "is none,\nunless CUFAULT_REQUIRE_GPU=1 is set. With CUFAULT_SKIPS_UNJUDGED=1, which CTest sets, 77 is "
      "in place of 3.",
      [said, &line] {
        run_arguments& running = said->running;
        running.argv = line.recorded_words();
        running.baselines = baseline_folders(said->baseline);
        running.tier = tier_of(said->tier);
        running.mode = said->mode == "gate" ? run_mode::gate : run_mode::observe;
        return run_cases(running);
      });
  run_arguments& running = said->running;
  run->add_option("CASE", running.names, "cases to run; in CASE/ARM a * is anything: '*_injected'");
  run->add_option("--mode", said->mode, "observe: report; gate: fail on anything unexpected")
      ->check(CLI::IsMember({"observe", "gate"}))
      ->capture_default_str();
  add_new_record(run, running.records);
  add_baseline(run, said->baseline);
  add_libraries(run, running.where);
  add_named(run, "--python", running.pythons, "PATH",
            "Python of an environment with PyTorch, JAX or CuPy, by its path or a name on the PATH: cases of "
            "the families pytorch, jax and cupy run in it; its cuBLAS is taken where --cublas is not given. "
            "Given again: another run, with a record of its own")
      ->envname("CUFAULT_PYTHON")
      ->allow_extra_args(false);
  add_import_timeout(run, running.import_seconds);
  run->add_option_function<std::string>(
      "--device", [&running](const std::string& text) { take_devices(text, running); },
      "CUDA devices to run on side by side, all alike: 0,1, or all (default: 0, or what CTest allocates)");
  add_jobs(run, running.jobs);
  run->add_option(
         "--tier", said->tier,
         "quick: the arms that find most in about a minute; full: all but sweeps, injected counterparts and, "
         "of the matrix, racing cells and remedies with operations that are not representative; nightly: "
         "these, too. The matrix and sweeps without records run only when named, cases of frameworks when "
         "named or with --python. Below nightly an arm with a remedy, of the matrix or of a framework, runs "
         "only if it is named, or if the arm without the remedy fails on this stack, by its record. What "
         "`cufault list` marks (only when named) runs only as CASE/ARM")
      ->check(CLI::IsMember({"quick", "full", "nightly"}))
      ->envname("CUFAULT_TIER")
      ->capture_default_str();
  add_named(run, "--repeats", running.repeats, "N",
            "at most N trials, of each level, of an arm whose outcome may differ from trial to trial; 0: as "
            "many as it has (default: 5 in the tiers quick and full: enough to detect a new outcome, too few "
            "to detect a changed rate; 0 in nightly). What came out otherwise than recorded is tried three "
            "more times in any case, for at most 15 s a GPU")
      ->check(CLI::Range(0, 1000));
  add_named(run, "--part", running.part, "I N",
            "only part I of N of each case: all controls, and every N-th fault arm with its remedies");
  run->add_flag("--shuffle", running.shuffle,
                "run cases and arms in an order drawn from the seed; trials of a framework keep to their "
                "interpreter, and have that order within it")
      ->envname("CUFAULT_SHUFFLE");
  run->add_option("--seed", running.seed, "seed of all random data (default: a new one, printed)");
  add_json(run, running.json, "run", ": the summary");
  for (const report_printer* format : report_printers())
    run->add_option_function<std::string>(
           fmt::format("--{}", format->name),
           [&running, format](const std::string& file) { running.reports[format->name] = file; },
           fmt::format("also write {}", format->what))
        ->type_name("FILE")
        ->check(new_file);
  run->add_flag(
      "--separate", running.separate,
      "run every trial in a process of its own, also where arms may share one as long as it is undamaged");
  run->add_flag("--verbose,-v", running.verbose,
                "tell when each arm begins and ends, the table of all verdicts, and the runner's own cost");
  const auto add_variable = [&](const char* option, const char* variable, const std::string& says) {
    return run->add_option_function<std::string>(
        option, [&running, variable](const std::string& value) { running.chosen[variable] = value; },
        says + "; cases that compare values of it keep theirs");
  };
  add_variable("--module-loading", "CUDA_MODULE_LOADING",
               "CUDA_MODULE_LOADING of trials, whatever the shell has (default: LAZY)")
      ->check(CLI::IsMember({"LAZY", "EAGER"}));
  add_variable("--workspace-config", "CUBLAS_WORKSPACE_CONFIG",
               "CUBLAS_WORKSPACE_CONFIG of trials, whatever the shell has (default: none)")
      ->check([](const std::string& text) {
        static const std::regex pairs("(:[0-9]{1,9}:[0-9]{1,9})+");
        return std::regex_match(text, pairs)
                   ? ""
                   : "expected pairs of a size in KiB and a count: :4096:8, or :4096:2:16:8";
      })
      ->type_name("TEXT");
  add_wait(run, running.wait_seconds);
  run->add_option("--not-provoked-budget", running.not_provoked_budget,
                  "gate: number of arms recorded on this stack that may end NOT_PROVOKED")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_mps_keeper(command_line& line) {
  line.own_command(
      "keep-mps", [] { return keep_mps_daemon(); }, /*outlives_thread=*/true);
}

const register_command run_here{"run", add_run, first(section::what_changed, 1), {needs::source_tree}};
const register_command keep_mps_here{"keep-mps", add_mps_keeper, hidden, {needs::source_tree}};

}  // namespace
}  // namespace cufault
