// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault sweep` is asked for, of operations or of a command.
#include "harness/cli/command_line.hpp"
#include "harness/cli/sweep.hpp"

#include <cstdio>

namespace cufault {
namespace {

/// "3/8". Throws usage_error.
std::pair<int, int> part_from(const std::string& text) {
  std::pair<int, int> part{0, 0};
  char slash = 0, rest = 0;
  if (std::sscanf(text.c_str(), "%d%c%d%c", &part.first, &slash, &part.second, &rest) != 3 || slash != '/')
    throw usage_error(fmt::format("--shard {}: give K/N, as in 1/4", text));
  if (part.first < 1 || part.first > part.second)
    throw usage_error(fmt::format("--shard {}: there is no such part", text));
  return part;
}

constexpr const char* about_sweeping_a_program =
    "With a command after --: two clean runs list its driver calls by call site, or with --library those of "
    "libraries; then it is run again with one call failed, each in turn. Each row is reported (exit code or "
    "output says that something failed), swallowed (as a clean run), crashed, hung, other_output (exit 0, "
    "other output), leaked (a process, shared memory or device memory is left behind) or not_reached, and "
    "prints where the call is made and the line that repeats it. Crashes, other output and leaks are run "
    "again three times, a hang once. Standard input is empty.\n"
    "The command stops at its first call that is seen, before CUDA begins, and forks a process for each row. "
    "One row in ten is also run by the command started anew, and compared. Where it cannot fork (threads, "
    "other processes, connections) or a row differs, the sweep says so and starts it anew for each row.\n"
    "Exit codes of a command's sweep: 0 nothing is left to inject, and all was acceptable; 1 a row was not; "
    "2 cufault could not sweep it: wrong use, or the command fails by itself; 3 all acceptable, but the "
    "budget left rows out or a call was not reached; 77 it calls no such function; 130 interrupted.\n"
    "Of an operation: two clean runs list its driver calls by call site. In these, and in one more at the "
    "end, nothing is made to fail; where the operation fails then, the sweep is unresolved.\n"
    "Exit codes of an operation's: 0 swept; 1 no GPU where one is required; 2 unresolved or bad input; 77 "
    "nothing could be provoked here; 130 interrupted.";

}  // namespace

void add_sweep(command_line& line) {
  struct given {
    sweep_arguments operations;
    program_sweep_arguments program;
    std::string depth, shard;
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
  CLI::App* sweep = line.command(
      "sweep", "Fail calls of a command, or inside of an operation, one in each run",
      about_sweeping_a_program, [said, &line] {
        const auto part = said->shard.empty() ? std::pair{1, 1} : part_from(said->shard);
        if (!line.behind.empty()) {
          given::refuse(said->of_operations, "operations, and a command stands after --");
          program_sweep_arguments& program = said->program;
          program.command = line.behind;
          program.shard = part;
          if (!said->depth.empty()) program.depth = said->depth;
          if (said->jobs > 0) program.jobs = said->jobs;
          return present(sweep_program, build_it_with_headers)(program);
        }
        if (said->operations.run.names.empty())
          throw usage_error("neither an operation nor a command after --, as in: cufault sweep -- ./program");
        given::refuse(said->of_commands, "a command, and none stands after --");
        sweep_arguments& operations = said->operations;
        operations.shard = part;
        if (!said->depth.empty()) operations.depth = said->depth;
        if (said->jobs > 0) operations.run.jobs = said->jobs;
        operations.run.argv = line.recorded_words();
        operations.run.baselines = baseline_folders();
        return present(sweep_operations, build_it_with_cuda)(operations);
      });
  auto &of_operations = said->of_operations, &of_commands = said->of_commands;
  run_arguments& run = said->operations.run;
  of_operations.push_back(
      sweep->add_option("OPERATION", run.names,
                        "as in `cufault list`, or a function: lt_matmul, cublasLtMatmul; /first: only the "
                        "first of a process, /further: only one that is not"));
  sweep
      ->add_option("--depth", said->depth,
                   "thin: the first call of each call site, by one code; of an operation, that of each "
                   "group, once, by one code. grouped: the first and last call of each function and library, "
                   "and more where they differ; of an operation, the first and last call of each group, by "
                   "every code, once and persistently, and where they differ the call halfway between, "
                   "repeatedly. every: each call that the clean runs list, by every code. A group of an "
                   "operation is the calls of one function by one library between two calls that change "
                   "something. Default: thin for a command, every for an operation")
      ->check(CLI::IsMember({"thin", "grouped", "every"}));
  auto* shard = sweep->add_option("--shard", said->shard, "only rows of part K of N")->type_name("K/N");
  sweep
      ->add_option(
          "--jobs,-j", said->jobs,
          "so many runs of a command, or arms of operations, side by side (default for a command: as many as "
          "fit into free memory by what a clean run took, one for each processor at most)")
      ->check(CLI::Range(1, 1000))
      ->envname("CUFAULT_JOBS");
  const auto of_command = [&](CLI::Option* option) { of_commands.push_back(option->check(not_empty)); };
  of_commands.push_back(add_intercepted_libraries(
      sweep, said->program.libraries, "fail the calls of this library, in place of those of the driver"));
  of_commands.push_back(
      sweep
          ->add_option("--unacceptable", said->program.unacceptable,
                       "outcomes that are findings, in place of crashed,hung,other_output,leaked")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("OUTCOME,...")
          ->check(CLI::IsMember({"reported", "swallowed", "crashed", "hung", "other_output", "leaked"})));
  of_commands.push_back(sweep->add_flag("--pairs", said->program.pairs,
                                        "behind each row one in which a call that followed the failed one "
                                        "fails, too: first one that clean runs "
                                        "do not make there, which handles the failure"));
  of_commands.push_back(
      sweep->add_flag("--anew", said->program.anew, "start the command anew for each row; fork nothing"));
  of_commands.push_back(
      add_seconds(sweep, "--timeout", said->program.timeout,
                  "of each run (default: 10 times the longer clean run, and 5 s at least)"));
  of_commands.push_back(add_seconds(
      sweep, "--budget", said->program.budget,
      "begin no run after so long, as 10m; what is new comes first, and what is left out is counted"));
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
  of_commands.push_back(add_json(sweep, said->program.json, "program-sweep-line",
                                 ": the record's lines, in place of text; an error is a last line"));
  of_operations.push_back(
      sweep
          ->add_option("--row", said->operations.row,
                       "only this row, as the atlas names it: LIBRARY:FUNCTION@SITE:N[+]=CODE, the N-th call "
                       "of that call site, + persistently")
          ->type_name("TEXT")
          ->check(not_empty)
          ->excludes(shard));
  add_new_record(sweep, run.records);
  add_target(sweep, run.where);
  add_wait(sweep, run.wait_seconds);
  for (const char* name : {"--records", "--cublas", "--cublaslt", "--device", "--wait"})
    of_operations.push_back(sweep->get_option(name));
  line.run_another.insert(sweep);
  sweep->add_option("COMMAND", CLI::callback_t{},
                    "after --: a command and its arguments, in place of operations");
}

const register_command sweep_here{
    "sweep", add_sweep, first(section::does_it_survive, 2), {needs::source_tree}};

}  // namespace cufault
