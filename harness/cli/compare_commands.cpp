// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands that compare records: their options. What they do is in compare.cpp.
#include "harness/cli/command_line.hpp"
#include "reports/judge/comparison.hpp"

#include <limits>
#include <memory>

namespace cufault {
namespace {

void add_style(CLI::App* command, comparison_style& style) {
  CLI::Option* const names = command->add_flag("--names", style.names, "print only the names of arms");
  command->add_flag("--in-full", style.in_full, "print of each arm that differs all that each record saw")
      ->excludes(names);
  add_form(command, style, "comparison");
}

void add_diff(command_line& line) {
  const auto said = std::make_shared<diff_arguments>();
  CLI::App* diff = line.command(
      "diff", "Arms that differ between records: signatures, measurements, rates",
      "Each record is compared with the first, as by gate. What a record was not asked for is only counted.\n"
      "Exit codes: 0 none differ; 1 some do; 2 bad input.",
      [said] { return show_differences(*said); });
  diff->add_option("RECORD", said->records, "two records or more, the oldest first")
      ->required()
      ->expected(-2)  // at least
      ->check(CLI::ExistingPath);
  diff->add_flag("--by-stack", said->by_stack, "records of one stack are one");
  diff->add_flag("--driver", said->driver,
                 "also calls that failed alike, and of which the driver's error log said something else");
  add_style(diff, *said);
}

void add_gate(command_line& line) {
  struct given : gate_arguments {
    std::string tier = "full";
  };
  const auto said = std::make_shared<given>();
  CLI::App* gate = line.command(
      "gate", "Compare a candidate with a baseline; fail on changes not allowed",
      "Arms are joined by name. Fail: CHANGED, GONE, WORSENED, REMEDY_BROKEN, ABSENT. Shown only: NEW, and "
      "what is noted.\n"
      "ABSENT is what the candidate was asked for and does not have. What it was not asked for is counted.\n"
      "--baseline-python and --candidate-python, in place of records: the same cases run in both "
      "environments, and the packages that differ come first.\n"
      "Exit codes: 0 passed; 1 a change that no allowance covers, too few cases executed, or a candidate "
      "without a framework that can be imported; 2 unresolved, a run that did not come to its end, nothing "
      "to compare, or bad input; 130 interrupted. Each reason is printed.",
      [said, &line] {
        if (said->baseline.empty() == said->baseline_python.empty() ||
            said->baseline.empty() != said->candidate.empty() ||
            said->baseline_python.empty() != said->candidate_python.empty())
          throw usage_error(
              "gate: give --baseline and --candidate, or --baseline-python and --candidate-python");
        run_arguments& running = said->run;
        if (!running.where.cublas.empty() && said->baseline_python.empty())
          throw usage_error("gate: --cublas is taken with --baseline-python and --candidate-python alone");
        if (!running.names.empty() && said->baseline_python.empty())
          throw usage_error("gate: cases are named with --baseline-python and --candidate-python alone");
        running.argv = line.words;
        running.argv[0] = "cufault";
        running.baselines = baseline_folders();
        running.tier = tier_of(said->tier);
        return run_gate(*said);
      });
  const std::string what =
      "a record, a folder of records, or the folder of a stack; several of one stack are one";
  gate->add_option("--baseline", said->baseline, what)->type_name("RECORD")->check(CLI::ExistingPath);
  gate->add_option("--candidate", said->candidate, what)->type_name("RECORD")->check(CLI::ExistingPath);
  gate->add_option("--baseline-python", said->baseline_python,
                   "Python of the environment that is known to be good")
      ->type_name("PATH")
      ->check(not_empty);
  gate->add_option("--candidate-python", said->candidate_python, "Python of the environment to be judged")
      ->type_name("PATH")
      ->check(not_empty);
  gate->add_option("CASE", said->run.names,
                   "with Pythons: cases to run (default: the families pytorch, jax and cupy)");
  gate->add_option("--tier", said->tier, "with Pythons: tier of the cases to run")
      ->check(CLI::IsMember({"quick", "full", "nightly"}))
      ->envname("CUFAULT_TIER")
      ->capture_default_str();
  add_import_timeout(gate, said->run.import_seconds);
  add_new_record(gate, said->run.records);
  add_jobs(gate, said->run.jobs);
  gate->add_option("--cublas", said->run.where.cublas,
                   "with Pythons: cuBLAS library or its folder, for both (default: that of each environment)")
      ->type_name("PATH")
      ->check(not_empty);
  gate->add_option("--device", said->run.where.device, "with Pythons: CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  gate->add_option("--allow", said->allow,
                   "JSON file of changes that may pass, each with a reason and an expiry date "
                   "(allowances.schema.json)")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  gate->add_option("--at-least", said->at_least, "cases of the candidate that must have been executed")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->envname("CUFAULT_FLOOR")
      ->capture_default_str();
  gate->add_option("--date", said->date, "the day by which allowances expire (default: today, UTC)")
      ->type_name("YYYY-MM-DD")
      ->check([](const std::string& text) { return is_date(text) ? "" : "expected a date: YYYY-MM-DD"; });
  add_style(gate, *said);
}

void add_merge(command_line& line) {
  const auto said = std::make_shared<merge_arguments>();
  CLI::App* merge = line.command(
      "merge", "Records of several GPUs or hosts as one: who differs from the majority, and pooled rates",
      "A record does not know its host: name files or folders by it.\n"
      "With --hosts the file of each is HOST.jsonl or HOST@BOOT.jsonl; each host is named that left no "
      "record or several, whose run did not end, that has no GPU, whose stack or start differs from most, "
      "or that is an outlier.\nA difference is printed as a change from the majority to the outlier.\n"
      "Exit codes: 0 all agree; 1 there are outliers, arms without a majority, or hosts that are named; 2 "
      "bad input.",
      [said] { return merge_records(*said); });
  merge->add_option("RECORD", said->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  merge
      ->add_option("--hosts", said->hosts, "file with the names of the hosts that were to report, one a line")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  add_form(merge, *said, "merged");
}

void add_history(command_line& line) {
  const auto said = std::make_shared<history_arguments>();
  struct asked : to_read {
    std::string gpu, release;
  };
  const auto asked_for = std::make_shared<asked>();
  CLI::App* history = line.command(
      "history",
      "Keeps the result of each arm in an SQLite file; shows since which stack it holds and how often it "
      "flakes, and what changed from release to release of cuBLAS",
      "What is kept: what each arm came to in each run. Flakes are runs that differ from most runs of their "
      "stack.\n"
      "An arm is compared with the nearest stack in front of its own. Last come arms that race and were "
      "steady, or of another rate, in their last 20 runs or more.\n"
      "Exit codes: 0; 2 bad input, or a file that is no history, has no run, is damaged, or was made by a "
      "newer cufault.",
      [said, asked_for, &line] {
        if (line.app.get_subcommand("history")->got_subcommand("matrix"))
          return show_changes({*asked_for, asked_for->records, asked_for->gpu, asked_for->release});
        return said->adds ? add_to_history(*said) : show_history(*said);
      });
  history->require_subcommand(1);
  CLI::App* add = history->add_subcommand("add", "Add records; records already present are skipped");
  add->add_option("DB", said->file, "the history; made where there is none")->required()->type_name("FILE");
  add->add_option("RECORD", said->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  add->callback([said] { said->adds = true; });
  CLI::App* show =
      history->add_subcommand("show", "Show arms that changed or flake, or all arms that match ARM");
  show->add_option("DB", said->file, "the history")->required()->type_name("FILE");
  show->add_option("ARM", said->arms, "CASE/ARM, where * is anything");
  add_form(show, *said, "history");
  CLI::App* changes = history->add_subcommand(
      "matrix",
      "Show what changed from release to release of cuBLAS, by recorded stacks of one GPU and driver");
  add_to_read(changes, asked_for->records);
  changes->add_option("--gpu", asked_for->gpu,
                      "text in the name of the GPU (default: the one on which most releases were recorded)");
  changes->add_option("--release", asked_for->release, "only changes that this release shows first: 13.1.0");
  add_form(changes, *asked_for, "changes", ", with all arms of all changes");
  changes->footer(
      "An arm that a release did not observe is not measured there: a change lies after the last release "
      "that showed what was before, and at the latest in the first that shows what is now. Not counted: "
      "what the case itself does differently (calls, facts and numbers that one of two records alone has), "
      "and rates within chance.");
}

}  // namespace

void add_compare_commands(command_line& line) {
  add_diff(line);
  add_gate(line);
  add_merge(line);
  add_history(line);
  add_report(line);
}

}  // namespace cufault
