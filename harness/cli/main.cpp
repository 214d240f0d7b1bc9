// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/cli.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/run/runner.hpp"
#include "harness/system/process.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <regex>
#include <sstream>
#include <utility>

#include "commit.hpp"

namespace {

using namespace cufault;

constexpr const char* about =
    "Reproduces documented cuBLAS and CUDA failures on this machine, proves which recommended\n"
    "workarounds clear them, and keeps what it saw as records that the next driver is compared with.";

constexpr const char* all_codes =
    "Exit codes: 0 as expected; 1 gate failed, differences found, or blessed; 2 unresolved or bad input;\n"
    "77 nothing could be provoked here; 130 interrupted. Each command's own: cufault COMMAND --help.\n"
    "Environment: CUFAULT_REQUIRE_GPU=1 makes a missing GPU a failure; CUFAULT_FLOOR=N sets the floor;\n"
    "CUFAULT_OTHER_CUBLAS=FOLDER is a second cuBLAS for arms that mix two. Under ctest, CUFAULT_TIER,\n"
    "CUFAULT_SHUFFLE=1, CUFAULT_CUBLAS, CUFAULT_CUBLASLT and CUFAULT_PYTHON stand for the options of those "
    "names.";
// ---- options that several commands have ----

void add_target(CLI::App* command, target& where) {
  add_libraries(command, where);
  command->add_option("--device", where.device, "CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_wait(CLI::App* command, int& seconds) {
  command->add_option("--wait", seconds, "seconds to wait for a GPU in use by another cufault")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// ---- cases ----

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
    if (std::find(running.devices.begin(), running.devices.end(), device) != running.devices.end())
      throw usage_error(fmt::format("--device {}: {} is there twice", text, device));
    running.devices.push_back(device);
  }
  if (running.devices.empty())
    throw usage_error("--device is empty; give numbers of devices, as in 0,1, or all");
  running.where.device = running.devices.front();
}

/// `words` as a record keeps them.
std::vector<std::string> recorded_words(std::vector<std::string> words) {
  words[0] = "cufault";  // where it lies on this machine is no evidence
  return words;
}

void add_run(command_line& line) {
  struct given {
    run_arguments running;
    std::string mode = "observe", tier = "full", devices;
    CLI::Option* has_devices = nullptr;
    std::uint64_t seed = 0;
    CLI::Option* seeded = nullptr;
  };
  const auto said = std::make_shared<given>();
  CLI::App* run =
      line.command("run", "Run cases: all, or those named (CASE, FAMILY or CASE/ARM)",
                   "Exit codes: 0 as expected; 1 gate failed, or no GPU where one is required; 2 unresolved "
                   "or bad input; 77 nothing could be provoked here; 130 interrupted.",
                   [said, &line] {
                     run_arguments& running = said->running;
                     running.argv = recorded_words(line.words);
                     if (running.expectations.empty()) running.expectations = default_expectations();
                     if (said->seeded->count() > 0) running.seed = said->seed;
                     running.tier = tier_of(said->tier);
                     if (said->has_devices->count() > 0) take_devices(said->devices, running);
                     running.mode = said->mode == "gate" ? run_mode::gate : run_mode::observe;
                     return run_cases(running);
                   });
  run_arguments& running = said->running;
  run->add_option("CASE", running.names, "cases to run; in CASE/ARM a * is anything: '*_injected'");
  run->add_option("--mode", said->mode, "observe: report; gate: fail on anything unexpected")
      ->check(CLI::IsMember({"observe", "gate"}))
      ->capture_default_str();
  add_new_record(run, running.records);
  run->add_option("--expectations", running.expectations, "folder of expectations (default: cufault's own)")
      ->type_name("DIR");
  add_libraries(run, running.where);
  run->add_option("--python", running.pythons,
                  "Python of an environment with PyTorch, JAX or CuPy: cases of the families pytorch, jax "
                  "and cupy run in it; "
                  "its cuBLAS is taken where --cublas is not given. Given again: another run, with a record "
                  "of its own")
      ->envname("CUFAULT_PYTHON")
      ->allow_extra_args(false)
      ->type_name("PATH");
  add_import_timeout(run, running.import_seconds);
  said->has_devices = run->add_option(
      "--device", said->devices,
      "CUDA devices to run on side by side, all alike: 0,1, or all (default: 0, or what CTest allocates)");
  add_jobs(run, running.jobs);
  run->add_option("--tier", said->tier,
                  "quick: what finds most in about a minute; full: all but sweeps and injected counterparts; "
                  "nightly: these, too. What `cufault list` marks (only when named) runs only as CASE/ARM")
      ->check(CLI::IsMember({"quick", "full", "nightly"}))
      ->envname("CUFAULT_TIER")
      ->capture_default_str();
  run->add_option("--part", running.part,
                  "only part I of N of each case: its controls, and every N-th fault with what answers it")
      ->type_name("I N");
  run->add_flag("--shuffle", running.shuffle, "run cases and arms in an order drawn from the seed")
      ->envname("CUFAULT_SHUFFLE");
  said->seeded =
      run->add_option("--seed", said->seed, "seed of all random data (default: a new one, printed)");
  run->add_flag("--json", running.json, "the summary as JSON");
  run->add_option("--junit", running.junit, "write JUnit XML, too: a suite a case, a test an arm")
      ->type_name("FILE")
      ->check(not_empty);
  run->add_option("--ctrf", running.ctrf, "write CTRF JSON, too: a test an arm")
      ->type_name("FILE")
      ->check(not_empty);
  run->add_option("--markdown", running.markdown, "write the summary as Markdown, too: for a step summary")
      ->type_name("FILE")
      ->check(not_empty);
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
                  "gate: arms with an expectation that may be not provoked")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

/// "3/8". Throws usage_error.
std::pair<int, int> part_of(const std::string& text) {
  std::pair<int, int> part{0, 0};
  char slash = 0, rest = 0;
  if (std::sscanf(text.c_str(), "%d%c%d%c", &part.first, &slash, &part.second, &rest) != 3 || slash != '/')
    throw usage_error(fmt::format("--shard {}: give K/N, as in 1/4", text));
  if (part.first < 1 || part.first > part.second)
    throw usage_error(fmt::format("--shard {}: there is no such part", text));
  return part;
}

/// Seconds of "90", "90s", "10m" or "2h". Throws usage_error.
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

constexpr const char* about_sweeping_a_program =
    "With a command behind --: two clean runs list its driver calls by call site; then it is run again with "
    "one "
    "call failed, each in turn. Each row is reported (exit code or output says that something failed), "
    "swallowed "
    "(as a clean run), crashed, hung, other_output (exit 0, other output), leaked (a process, shared memory "
    "or "
    "device memory is left behind) or not_reached, and prints the line that repeats it. Crashes, hangs, "
    "other "
    "output and leaks are run again alone, three times. Standard input is empty.\n"
    "--ok is run by sh after each run, with CUFAULT_RUN_STDOUT and CUFAULT_RUN_STDERR (files of its output), "
    "CUFAULT_RUN_EXIT (not set if it did not exit), CUFAULT_RUN_OUTCOME (clean: nothing failed) and "
    "CUFAULT_RUN_FAILED (the call).\n"
    "Exit codes of a command's sweep: 0 nothing is left to inject, and all was acceptable; 1 a row was not; "
    "2 "
    "cufault could not sweep it: wrong use, or the command fails by itself; 3 all acceptable, but the budget "
    "left "
    "rows out or a call was not reached; 77 it calls no driver function; 130 interrupted.\n"
    "Exit codes of an operation's: 0 swept; 1 no GPU where one is required; 2 unresolved or bad input; 77 "
    "nothing "
    "could be provoked here; 130 interrupted.";

void add_sweep(command_line& line) {
  struct given {
    sweep_arguments operations;
    program_sweep_arguments program;
    std::string depth, shard, timeout, budget;
    int jobs = 0;
    std::vector<CLI::Option*> of_operations, of_commands;  // options that only the one kind of sweep has

    /// Throws usage_error where one of them is given.
    static void refuse(const std::vector<CLI::Option*>& options, const char* of) {
      for (const CLI::Option* o : options)
        if (o->count() > 0 && o->get_envname().empty())  // a variable may be set for other commands
          throw usage_error(
              fmt::format("{} is of sweeps of {}; see cufault sweep --help", o->get_name(), of));
    }
  };
  const auto said = std::make_shared<given>();
  CLI::App* sweep =
      line.command("sweep", "Fail driver calls of a command, or inside of an operation, one in each run",
                   about_sweeping_a_program, [said, &line] {
                     const auto part = said->shard.empty() ? std::pair{1, 1} : part_of(said->shard);
                     if (!line.behind.empty()) {
                       given::refuse(said->of_operations, "operations, and a command stands behind --");
                       program_sweep_arguments& program = said->program;
                       program.command = line.behind;
                       program.shard = part;
                       if (!said->depth.empty()) program.depth = said->depth;
                       if (said->jobs > 0) program.jobs = said->jobs;
                       if (!said->timeout.empty()) program.timeout = seconds_of("--timeout", said->timeout);
                       if (!said->budget.empty()) program.budget = seconds_of("--budget", said->budget);
                       return sweep_program(program);
                     }
                     if (said->operations.run.names.empty())
                       throw usage_error(
                           "neither an operation nor a command behind --, as in: cufault sweep -- ./program");
                     given::refuse(said->of_commands, "a command, and none stands behind --");
                     sweep_arguments& operations = said->operations;
                     operations.shard = part;
                     if (!said->depth.empty()) operations.depth = said->depth;
                     if (said->jobs > 0) operations.run.jobs = said->jobs;
                     operations.run.argv = recorded_words(line.words);
                     operations.run.expectations = default_expectations();
                     return sweep_operations(operations);
                   });
  auto &of_operations = said->of_operations, &of_commands = said->of_commands;
  run_arguments& run = said->operations.run;
  of_operations.push_back(sweep->add_option(
      "OPERATION", run.names,
      "as in `cufault list`, or a function: lt_matmul, cublasLtMatmul; /first: only the first of a "
      "process, /further: only one that is not"));
  sweep
      ->add_option(
          "--depth", said->depth,
          "thin: the first call of each call site, by one code; of an operation, one call of each "
          "group, once, by one code. grouped: the first and last call of each function and library, "
          "and more where they differ; of an operation, one call of each group, by every code, once "
          "and persistently. every: every call, by every code. Default: thin for a command, every for "
          "an operation")
      ->check(CLI::IsMember({"thin", "grouped", "every"}));
  auto* shard = sweep->add_option("--shard", said->shard, "only rows of part K of N")->type_name("K/N");
  sweep
      ->add_option(
          "--jobs,-j", said->jobs,
          "so many runs of a command, or arms of operations, side by side (default: 1 for a command)")
      ->check(CLI::Range(1, 1000))
      ->envname("CUFAULT_JOBS");
  const auto of_command = [&](CLI::Option* option) { of_commands.push_back(option->check(not_empty)); };
  of_command(sweep
                 ->add_option("--ok", said->program.ok,
                              "a shell command that says by its exit code whether a run was acceptable")
                 ->type_name("COMMAND"));
  of_command(sweep
                 ->add_option("--timeout", said->timeout,
                              "of each run (default: 10 times the longer clean run, and 5 s at least)")
                 ->type_name("TIME"));
  of_command(sweep
                 ->add_option("--budget", said->budget,
                              "begin no run after so long, as 10m; what is new comes first, and what is left "
                              "out is counted")
                 ->type_name("TIME"));
  auto* record = sweep->add_option("--record", said->program.record, "write what is seen, as JSON Lines")
                     ->type_name("FILE");
  of_command(record);
  of_command(
      sweep
          ->add_option(
              "--resume", said->program.resume,
              "go on with such a record, also of a sweep that was killed; begin it where there is none")
          ->type_name("FILE")
          ->excludes(record));
  of_commands.push_back(sweep->add_flag("--json", said->program.json,
                                        "the record's lines on standard output, in place of text"));
  of_operations.push_back(sweep
                              ->add_option("--row", said->operations.row,
                                           "only this row: LIBRARY:FUNCTION:N[+]=CODE, + persistently")
                              ->type_name("TEXT")
                              ->check(not_empty)
                              ->excludes(shard));
  add_new_record(sweep, run.records);
  add_target(sweep, run.where);
  add_wait(sweep, run.wait_seconds);
  for (const char* name : {"--records", "--cublas", "--cublaslt", "--device", "--wait"})
    of_operations.push_back(sweep->get_option(name));
  sweep->add_option("COMMAND", CLI::callback_t{},
                    "behind --: a command and its arguments, in place of operations");
}

void add_list(command_line& line) {
  const auto json = std::make_shared<bool>(false);
  const auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* list =
      line.command("list", "Cases, their arms, and the claims and field failures that they cover",
                   codes_of_reading, [json, names] { return list_cases(*names, *json); });
  list->add_option(
      "NAMES", *names,
      "only these cases (CASE) and families (FAMILY); cells of the matrix are listed only by name");
  list->add_flag("--json", *json, "as JSON");
}

void add_stack(command_line& line) {
  struct given {
    target where;
    bool json = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* stack = line.command(
      "stack", "What this machine is: GPU, driver, runtime, cuBLAS and where each was loaded from",
      "Exit codes: 0, with a GPU or without; 2 a library cannot be loaded, or bad input; 130 interrupted.",
      [said] { return show_stack(said->where, said->json); });
  stack->add_flag("--json", said->json, "as JSON");
  add_target(stack, said->where);
}

// ---- records ----

void add_bless(command_line& line) {
  const auto said = std::make_shared<bless_arguments>();
  CLI::App* command =
      line.command("bless", "Write expectations from a record; never exits 0",
                   "Exit codes: 1 always, whatever there was to bless, so that no job can do it by accident; "
                   "2 bad input.",
                   [said] {
                     if (said->expectations.empty()) said->expectations = default_expectations();
                     return bless(*said);
                   });
  command->add_option("RECORD", said->record, "record to bless")->required()->check(CLI::ExistingPath);
  command->add_option("CASE", said->names,
                      "cases to bless, or CASE/ARM, in which a * is anything (default: all)");
  command->add_flag("--observations-only", said->observations_only,
                    "file what was observed with its stack, and expect nothing of these arms");
  command
      ->add_option("--with", said->with,
                   "another record of the same stack, whose trials count for the rates of arms that race")
      ->allow_extra_args(false)
      ->type_name("RECORD")
      ->check(CLI::ExistingPath);
  command->add_option("--when", said->when, "further condition: KEY=COMPARISONS, as in 'driver=>=580 <581'")
      ->allow_extra_args(false)
      ->type_name("CONDITION");
  command->add_option("--expectations", said->expectations, "folder to write to (default: cufault's own)")
      ->type_name("DIR");
}

void add_claims(command_line& line) {
  const auto said = std::make_shared<to_read>();
  CLI::App* claims = line.command(
      "claims", "Each claim of the source documents, its verdict, and the arms behind it", codes_of_reading,
      [said] { return show_claims(said->records_or_own(), said->json, said->markdown); });
  add_to_read(claims, *said);
  claims->add_flag("--json", said->json, "as JSON");
  add_markdown(claims, said->markdown);
}

void add_show(command_line& line) {
  struct given {
    std::filesystem::path record;
    std::vector<std::string> names;
    bool markdown = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* show = line.command(
      "show", "Verdict table of a run's record, also of one that was killed, or of a stack", codes_of_reading,
      [said] { return show_record(said->record, said->names, said->markdown); });
  show->add_option("RECORD", said->record, "record of a run (.jsonl), or folder of a stack")
      ->required()
      ->check(CLI::ExistingPath);
  show->add_option("CASE", said->names, "cases to show (default: all)");
  add_markdown(show, said->markdown);
}

void add_causes(command_line& line) {
  struct given : to_read {
    std::string status;
  };
  const auto said = std::make_shared<given>();
  CLI::App* causes =
      line.command("causes", "Every recorded way to make a call return a status", codes_of_reading,
                   [said] { return show_causes(said->status, said->records_or_own(), said->markdown); });
  causes
      ->add_option(
          "STATUS", said->status,
          "as in CUBLAS_STATUS_INTERNAL_ERROR, or INTERNAL_ERROR; WRONG_NUMBERS: success with wrong numbers")
      ->required();
  add_to_read(causes, *said);
  add_markdown(causes, said->markdown);
}

void add_explain(command_line& line) {
  const auto said = std::make_shared<explain_arguments>();
  CLI::App* explain = line.command(
      "explain", "What can have caused the failure that a log tells of, from the records and known failures",
      "Exit codes: 0 with an answer; 4 nothing of it is known; 2 bad input.\n"
      "A message as arguments, a log as a file, or a log on standard input: ./program 2>&1 | cufault explain",
      [said] {
        if (said->records.empty()) said->records = {default_recorded()};
        return explain_logs(*said);
      });
  explain->add_option(
      "TEXT|FILE", said->words,
      "a message, or logs; - or nothing: standard input. Several logs are explained one by one");
  explain
      ->add_option("--records", said->records,
                   "records or folders of records to rank by (default: those that come with cufault)")
      ->allow_extra_args(false)
      ->type_name("RECORD")
      ->check(CLI::ExistingPath);
  explain->add_flag("--json", said->json, "as JSON; of several logs one object a line");
  explain->add_flag("--no-machine", said->no_machine,
                    "do not look at this machine, as doctor does where there is a driver; a log that names "
                    "another GPU or driver is explained without it anyway");
}

void add_frameworks(command_line& line) {
  struct given : to_read {};
  const auto said = std::make_shared<given>();
  CLI::App* frameworks = line.command(
      "frameworks", "What a user of PyTorch, JAX or CuPy sees, what had happened, and what cleared it",
      codes_of_reading, [said] { return show_frameworks(said->records_or_own(), said->markdown); });
  add_to_read(frameworks, *said);
  add_markdown(frameworks, said->markdown);
}

void add_atlas(command_line& line) {
  struct given : to_read {
    bool overview = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* atlas = line.command(
      "atlas", "Which driver failures lead to which status, from the records of sweeps", codes_of_reading,
      [said] { return show_atlas(said->records_or_own(), said->overview, said->markdown); });
  add_to_read(atlas, *said);
  atlas->add_flag("--overview", said->overview, "one line an operation");
  add_markdown(atlas, said->markdown);
}

void add_matrix(command_line& line) {
  const auto said = std::make_shared<matrix_arguments>();
  CLI::App* matrix = line.command(
      "matrix", "What every operation came to under every fault, what that depends on, and what remedies did",
      "Exit codes: 0; 2 bad input; 77 no record has a cell of the matrix.", [said] {
        if (said->records.empty()) said->records = {default_recorded()};
        return show_matrix(*said);
      });
  matrix
      ->add_option("RECORD", said->records,
                   "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  matrix->add_option("--fault", said->fault, "only this fault; a * is anything: 'kernel_*'")
      ->type_name("FAULT")
      ->check(not_empty);
  matrix
      ->add_option("--operation", said->operation,
                   "only this operation, or function, under every fault: sgemm_64, cublasSgemm")
      ->type_name("OPERATION")
      ->check(not_empty);
  matrix->add_option("--remedy", said->remedy, "what this remedy did; a * is anything")
      ->type_name("REMEDY")
      ->check(not_empty);
  matrix->add_option("--stack", said->stack, "only stacks whose name has this text: 'cuBLAS 13.1.0'")
      ->type_name("TEXT")
      ->check(not_empty);
  matrix
      ->add_option("--by", said->by,
                   "only cells that differ between stacks, by keys of `cufault stack --json`: cublas,gpu")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KEY,...")
      ->check(not_empty);
  matrix->add_option("--format", said->format, "csv and json have a line or an object for each cell")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
      ->capture_default_str();
}

void add_cost(command_line& line) {
  const auto said = std::make_shared<cost_arguments>();
  CLI::App* cost =
      line.command("cost", "What remedies cost in time and device memory, from the records of remedy_cost",
                   "Exit codes: 0; 2 bad input; 77 not measured yet.", [said] {
                     if (said->records.empty()) said->records = {default_recorded()};
                     return show_costs(*said);
                   });
  cost->add_option("RECORD", said->records,
                   "records of remedy_cost, or folders of stacks that have a cost.jsonl (default: those that "
                   "come with cufault)")
      ->check(CLI::ExistingPath);
  cost->add_option("--remedy", said->remedy,
                   "only this remedy, on each kind of work; a * is anything: 'workspace_*'")
      ->type_name("REMEDY")
      ->check(not_empty);
  cost->add_flag("--all", said->all_work,
                 "each kind of work, too; csv and json always have a line or an object for each");
  cost->add_option("--format", said->format, "svg: a picture")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json", "svg"}))
      ->capture_default_str();
}

void add_compare_injected(command_line& line) {
  const auto said = std::make_shared<to_read>();
  CLI::App* counterparts = line.command(
      "compare-injected",
      "Injected counterparts of fault arms: do they come to what the natural arms came to?", codes_of_reading,
      [said] { return show_counterparts(said->records_or_own(), said->markdown); });
  add_to_read(counterparts, *said);
  add_markdown(counterparts, said->markdown);
}

// ---- another program ----

/// `COMMAND`, which stands behind --: what stands before it is refused. Only for the help is it an option.
void add_command_behind(CLI::App* command, const std::string& example) {
  command->add_option("COMMAND", CLI::callback_t{}, "behind --: the command and its arguments")
      ->check([example](const std::string& word) {
        return fmt::format("{} does not stand behind --, as in: {}", word, example);
      });
}

std::vector<std::string> command_behind(const command_line& line, const std::string& example) {
  if (line.behind.empty()) throw usage_error(fmt::format("no command stands behind --, as in: {}", example));
  return line.behind;
}

void add_intercepted_libraries(CLI::App* command, std::vector<std::string>& libraries,
                               const std::string& what) {
  command->add_option("--library", libraries, what + " (can be given again)")
      ->allow_extra_args(false)
      ->type_name("NAME")
      ->check(not_empty);
}

void add_inject(command_line& line) {
  const std::string example = "cufault inject --fail cuMemAlloc_v2=OUT_OF_MEMORY -- ./program";
  const auto said = std::make_shared<inject_arguments>();
  CLI::App* command =
      line.command("inject", "Run a command whose calls of the driver and of libraries fail as rules say",
                   inject_help() +
                       "Without --rules and --fail, CUFAULT_RULES and CUFAULT_FAIL of the environment hold.\n"
                       "Exit codes: the command's; 2 wrong use, or a wrong rule; 3 rules acted less often "
                       "than --require says; 126 it "
                       "cannot be executed; 127 it is not found.",
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
                   "only calls of the call stack of this hash, as a log or `cufault sweep` tells it")
      ->allow_extra_args(false)
      ->type_name("TEXT")
      ->check(not_empty);
  command
      ->add_option("--log", said->log,
                   "JSON lines of injections and counts (default: injections to standard error)")
      ->type_name("FILE")
      ->check(not_empty);
  command
      ->add_option("--require", said->require,
                   "exit with 3 where rules acted less often than N, in all processes together")
      ->type_name("N");
  command->add_flag("--lenient", said->lenient, "run the command without injection if a rule is wrong");
  add_intercepted_libraries(
      command, said->libraries,
      "be ready for rules on this library, too, which the process sets or a file gets later; "
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
      ->add_option(
          "--chrome", said->chrome,
          "every driver call of all its processes as a Chrome trace, which Perfetto opens; each call "
          "then writes a line")
      ->type_name("FILE")
      ->check(not_empty);
  add_intercepted_libraries(command, said->libraries,
                            "calls of this library, too; the help of inject names the libraries");
  add_command_behind(command, example);
}

// ---- for CTest ----

void add_preflight(command_line& line) {
  struct given {
    target where;
    std::filesystem::path records = "records", resources;
  };
  const auto said = std::make_shared<given>();
  CLI::App* preflight_command =
      line.command("preflight", "For CTest: is there a GPU?",
                   "Exit codes: 0 there is one; 1 there is none, and one is "
                   "required; 2 a library cannot be loaded, or bad "
                   "input; 77 there is none.",
                   [said] { return preflight(said->where, said->records, said->resources); });
  preflight_command->add_option("--records", said->records, "folder of the records")->type_name("DIR");
  preflight_command
      ->add_option("--resources", said->resources, "write the GPUs that are here as a resource spec file")
      ->type_name("FILE");
  add_target(preflight_command, said->where);
}

void add_resources(command_line& line) {
  struct given {
    target where;
    std::filesystem::path file;
  };
  const auto said = std::make_shared<given>();
  CLI::App* resources = line.command(
      "resources", "For CTest: the GPUs that are here, as a resource spec file",
      "ctest --resource-spec-file FILE then gives each case a GPU. From CMake 3.28 on the presets do so by "
      "themselves.\nExit codes: 0; 1 no GPU, and one is required; 2 a library cannot be loaded, or bad "
      "input; "
      "77 there is no GPU (the file has one named none).",
      [said] { return write_resources(said->where, said->file); });
  resources->add_option("FILE", said->file, "where to write it (default: standard output)");
  add_libraries(resources, said->where);
}

void add_floor(command_line& line) {
  struct given {
    std::filesystem::path records = "records";
    int at_least = 1;
  };
  const auto said = std::make_shared<given>();
  CLI::App* floor = line.command(
      "floor", "For CTest: were enough cases executed since the preflight, and nothing left behind?",
      "Exit codes: 0 they were; 1 too few, or something was left behind; 2 no preflight has run, or bad "
      "input.",
      [said] { return check_floor(said->records, said->at_least); });
  floor->add_option("--records", said->records, "folder of the records")->type_name("DIR");
  floor->add_option("--at-least", said->at_least, "cases that must have been executed")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->envname("CUFAULT_FLOOR")
      ->capture_default_str();
}

// ---- what this program starts itself as; no names for people ----

void add_trial(command_line& line) {
  struct given {
    trial_arguments one;
    std::int64_t level = 0;
    CLI::Option* has_level = nullptr;
  };
  const auto said = std::make_shared<given>();
  CLI::App* trial = line.own_command("trial", [said] {
    if (said->has_level->count() > 0) said->one.level = said->level;
    return serve_trial(said->one);
  });
  trial->add_option("CASE", said->one.case_name)->required();
  trial->add_option("ARM", said->one.arm)->required();
  said->has_level = trial->add_option("--level", said->level);
  trial->add_option("--seed", said->one.seed);
  trial->add_option("--stage", said->one.stage);
  add_target(trial, said->one.where);
}

void add_trials(command_line& line) {
  struct given {
    target where;
    bool gpu = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* trials =
      line.own_command("trials", [said] { return serve_shared_trials(said->where, said->gpu); });
  trials->add_flag("--gpu", said->gpu);
  add_target(trials, said->where);
}

void add_other_process(command_line& line) {
  struct given {
    int device = 0;
    std::uint64_t leave_free = 0;
  };
  const auto said = std::make_shared<given>();
  CLI::App* other_process = line.own_command(
      "other-process", [said] { return serve_other_process(said->device, said->leave_free); },
      /*outlives_thread=*/true);
  other_process->add_option("--device", said->device);
  other_process->add_option("--leave-free", said->leave_free)->required();
}

void add_probe(command_line& line) {
  struct given {
    target where;
  };
  const auto said = std::make_shared<given>();
  CLI::App* probe = line.own_command("probe-stack", [said] { return serve_probe(said->where); });
  add_target(probe, said->where);
}

// ---- all of it ----

/// Those for people.
std::string names_of_commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names += (names.empty() ? "" : ", ") + c->get_name();
  return names;
}

/// In one line.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  if (const auto asked = app.get_subcommands(); !asked.empty())
    return fmt::format("{}; see cufault {} --help", error.what(), asked.front()->get_name());
  const auto unknown = app.remaining();
  return fmt::format(
      "{}; the commands are: {}",
      unknown.empty() ? "no command was given" : fmt::format("there is no command {}", unknown.front()),
      names_of_commands(app));
}

int dispatch(int argc, char** argv) {
  command_line line(about, {argv, argv + argc});
  line.app.footer(all_codes);
  line.app.set_version_flag("--version", fmt::format("cufault {} ({}{})", CUFAULT_VERSION, CUFAULT_COMMIT,
                                                     CUFAULT_DIRTY ? ", modified" : ""));
  for (const auto add : {add_run,
                         add_sweep,
                         add_list,
                         add_stack,
                         add_bless,
                         add_claims,
                         add_show,
                         add_compare_commands,
                         add_causes,
                         add_explain,
                         add_doctor_commands,
                         add_node,
                         add_atlas,
                         add_frameworks,
                         add_matrix,
                         add_cost,
                         add_compare_injected,
                         add_inject,
                         add_trace,
                         add_preflight,
                         add_resources,
                         add_floor,
                         add_trial,
                         add_trials,
                         add_other_process,
                         add_probe})
    add(line);
  // Verbatim: CLI11 would take "[a,b]" apart.
  auto end = line.words.end();
  if (argc > 1 && (line.words[1] == "inject" || line.words[1] == "trace" || line.words[1] == "doctor" ||
                   line.words[1] == "sweep")) {
    end = std::find(line.words.begin(), line.words.end(), "--");
    if (end != line.words.end()) line.behind.assign(end + 1, line.words.end());
  }
  try {
    line.app.parse(static_cast<int>(end - line.words.begin()), argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return line.app.exit(e);  // help, or the version
    throw usage_error(what_is_wrong(line.app, e));
  }
  return line.chosen();
}

}  // namespace

int main(int argc, char** argv) {
  // A closed standard descriptor would be the next file that is opened: a journal must not get the progress text.
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) return exit_unresolved;
  }
  try {
    const int code = dispatch(argc, argv);
    std::cout << std::flush;
    if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw usage_error("standard output could not be written");
    return code;
  } catch (const interrupted&) {
    std::cerr << "cufault: interrupted before anything ran\n";
    return exit_interrupted;
  } catch (const usage_error& e) {
    std::cerr << "cufault: " << e.what() << '\n';
    return e.exit_code;
  } catch (const std::exception& e) {
    std::cerr << "cufault: " << e.what() << '\n';
    return exit_unresolved;
  }
}
