// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli.hpp"
#include "harness/process.hpp"
#include "reports/json_input.hpp"

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

#include "commit.hpp"

namespace {

using namespace cufault;

constexpr const char* about =
    "Reproduces documented cuBLAS and CUDA failures on this machine, proves which recommended\n"
    "workarounds clear them, and keeps what it saw as records that the next driver is compared with.";

constexpr const char* codes =
    "Exit codes: 0 as expected; 1 gate failed, differences found, or blessed; 2 unresolved or bad input;\n"
    "77 nothing could be provoked here; 130 interrupted.\n"
    "Environment: CUFAULT_REQUIRE_GPU=1 makes a missing GPU a failure; CUFAULT_FLOOR=N sets the floor;\n"
    "CUFAULT_OTHER_CUBLAS=FOLDER is a second cuBLAS for arms that mix two. Under ctest, CUFAULT_TIER,\n"
    "CUFAULT_SHUFFLE=1, CUFAULT_CUBLAS and CUFAULT_CUBLASLT stand for the options of those names.";

void add_target(CLI::App* command, target& where) {
  command
      ->add_option("--cublas", where.cublas, "cuBLAS library or its folder (default: what the loader takes)")
      ->envname("CUFAULT_CUBLAS")
      ->type_name("PATH");
  command
      ->add_option("--cublaslt", where.cublaslt,
                   "cuBLASLt library or its folder (default: the one beside --cublas)")
      ->envname("CUFAULT_CUBLASLT")
      ->type_name("PATH");
  command->add_option("--device", where.device, "CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

test_tier tier_of(const std::string& name) {
  return name == "quick" ? test_tier::quick : name == "full" ? test_tier::full : test_tier::nightly;
}

int dispatch(int argc, char** argv) {
  CLI::App app{about, "cufault"};
  app.footer(codes);
  app.set_version_flag("--version", fmt::format("cufault {} ({}{})", CUFAULT_VERSION, CUFAULT_COMMIT,
                                                CUFAULT_DIRTY ? ", modified" : ""));
  app.require_subcommand(1);
  std::function<int()> chosen;
  const auto command = [&](const char* name, const char* what, auto action) {
    CLI::App* c = app.add_subcommand(name, what);
    c->callback([&chosen, action] { chosen = action; });
    return c;
  };

  run_arguments running;
  running.argv.assign(argv, argv + argc);
  running.argv[0] = "cufault";  // where it lies on this machine is no evidence
  std::string mode = "observe", tier = "full";
  std::uint64_t seed = 0;
  CLI::Option* seeded = nullptr;
  auto* run = command("run", "Run cases: all, or those named (CASE, FAMILY or CASE/ARM)", [&] {
    if (running.expectations.empty()) running.expectations = default_expectations();
    if (seeded->count() > 0) running.seed = seed;
    running.tier = tier_of(tier);
    running.mode = mode == "gate" ? run_mode::gate : run_mode::observe;
    return run_cases(running);
  });
  run->add_option("CASE", running.names, "cases to run; in CASE/ARM a * is anything: '*_injected'");
  run->add_option("--mode", mode, "observe: report; gate: fail on anything unexpected")
      ->check(CLI::IsMember({"observe", "gate"}))
      ->capture_default_str();
  run->add_option("--records", running.records, "folder for the record")
      ->type_name("DIR")
      ->capture_default_str();
  run->add_option("--expectations", running.expectations, "folder of expectations (default: cufault's own)")
      ->type_name("DIR");
  add_target(run, running.where);
  run->add_option("--tier", tier,
                  "quick: what finds most in about a minute; full: all but sweeps and injected twins; "
                  "nightly: everything")
      ->check(CLI::IsMember({"quick", "full", "nightly"}))
      ->envname("CUFAULT_TIER")
      ->capture_default_str();
  run->add_option("--part", running.part,
                  "only part I of N of each case: its controls, and every N-th fault with what answers it")
      ->type_name("I N");
  run->add_flag("--shuffle", running.shuffle, "run cases and arms in an order drawn from the seed")
      ->envname("CUFAULT_SHUFFLE");
  seeded = run->add_option("--seed", seed, "seed of all random data (default: a new one, printed)");
  run->add_option("--wait", running.wait_seconds, "seconds to wait for a GPU in use by another cufault")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  run->add_option("--not-provoked-budget", running.not_provoked_budget,
                  "gate: arms with an expectation that may be not provoked")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();

  sweep_arguments sweeping;
  auto* sweep =
      command("sweep", "Fail each driver call inside of an operation, by every code, once and for good", [&] {
        sweeping.run.argv = running.argv;
        if (sweeping.run.expectations.empty()) sweeping.run.expectations = default_expectations();
        return sweep_operations(sweeping);
      });
  sweep
      ->add_option(
          "OPERATION", sweeping.run.names,
          "as in `cufault list`, or a function: lt_matmul, cublasLtMatmul; /first: only the first of a "
          "process, /further: only one that is not")
      ->required();
  auto* thin = sweep->add_flag("--thin", sweeping.thin, "only one call of each group, once, by one code");
  sweep
      ->add_flag("--grouped", sweeping.grouped,
                 "only one call of each group, but by every code, once and for good")
      ->excludes(thin);
  sweep->add_option("--shard", sweeping.shard, "only rows of part I of N")->type_name("I N");
  sweep->add_option("--row", sweeping.row, "only this row: LIBRARY:FUNCTION:N[+]=CODE, + for good")
      ->type_name("TEXT");
  sweep->add_option("--records", sweeping.run.records, "folder for the record")
      ->type_name("DIR")
      ->capture_default_str();
  add_target(sweep, sweeping.run.where);
  sweep
      ->add_option("--wait", sweeping.run.wait_seconds, "seconds to wait for a GPU in use by another cufault")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();

  bool json = false, markdown = false;
  auto* list = command("list", "Cases, their arms, and the claims and field failures that they cover",
                       [&] { return list_cases(json); });
  list->add_flag("--json", json, "as JSON");

  target stack_target;
  auto* stack =
      command("stack", "What this machine is: GPU, driver, runtime, cuBLAS and where each was loaded from",
              [&] { return show_stack(stack_target, json); });
  stack->add_flag("--json", json, "as JSON");
  add_target(stack, stack_target);

  bless_arguments blessing;
  auto* bless_command = command("bless", "Write expectations from a record; always exits 1", [&] {
    if (blessing.expectations.empty()) blessing.expectations = default_expectations();
    return bless(blessing);
  });
  bless_command->add_option("RECORD", blessing.record, "record to bless")
      ->required()
      ->check(CLI::ExistingFile);
  bless_command->add_option("CASE", blessing.names, "cases to bless (default: all)");
  bless_command
      ->add_option("--with", blessing.with,
                   "another record of the same stack, whose trials count for the rates of arms that race")
      ->allow_extra_args(false)
      ->type_name("RECORD")
      ->check(CLI::ExistingFile);
  bless_command
      ->add_option("--when", blessing.when, "further condition: KEY=COMPARISONS, as in 'driver=>=580 <581'")
      ->allow_extra_args(false)
      ->type_name("CONDITION");
  bless_command
      ->add_option("--expectations", blessing.expectations, "folder to write to (default: cufault's own)")
      ->type_name("DIR");

  std::vector<std::filesystem::path> records;
  auto* claims =
      command("claims", "Each claim of the source documents, its verdict, and the arms behind it", [&] {
        if (records.empty()) records.push_back(default_recorded());
        return show_claims(records, json, markdown);
      });
  claims
      ->add_option("RECORD", records, "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  claims->add_flag("--json", json, "as JSON");
  claims->add_flag("--markdown", markdown, "as a Markdown table");

  std::filesystem::path first;
  auto* show = command("show", "Verdict table of a record, or of the journal of a run that was killed",
                       [&] { return show_record(first, markdown); });
  show->add_option("RECORD", first, "record")->required()->check(CLI::ExistingFile);
  show->add_flag("--markdown", markdown, "as a Markdown table");

  std::vector<std::filesystem::path> compared;
  bool by_stack = false;
  auto* diff = command("diff", "Arms whose signatures differ between records; exits 1 if any does",
                       [&] { return show_differences(compared, by_stack, markdown); });
  diff->add_option("RECORD", compared, "two records or more, the oldest first")
      ->required()
      ->expected(-2)  // at least
      ->check(CLI::ExistingFile);
  diff->add_flag("--by-stack", by_stack,
                 "records of one stack are one column; arms that not every stack has are only counted");
  diff->add_flag("--markdown", markdown, "as a Markdown table");

  std::string status;
  auto* causes = command("causes", "Every recorded way to make a call return a status", [&] {
    if (records.empty()) records.push_back(default_recorded());
    return show_causes(status, records, markdown);
  });
  causes->add_option("STATUS", status, "as in CUBLAS_STATUS_INTERNAL_ERROR")->required();
  causes
      ->add_option("RECORD", records, "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  causes->add_flag("--markdown", markdown, "as a Markdown table");

  bool overview = false;
  auto* atlas =
      command("atlas", "Which driver failures lead to which status, from the records of sweeps", [&] {
        if (records.empty()) records.push_back(default_recorded());
        return show_atlas(records, overview, markdown);
      });
  atlas
      ->add_option("RECORD", records, "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  atlas->add_flag("--overview", overview, "one line an operation");
  atlas->add_flag("--markdown", markdown, "as Markdown");

  auto* twins =
      command("twins", "Injected twins of fault arms: do they come to what the natural arms came to?", [&] {
        if (records.empty()) records.push_back(default_recorded());
        return show_twins(records, markdown);
      });
  twins
      ->add_option("RECORD", records, "records or folders of records (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  twins->add_flag("--markdown", markdown, "as a Markdown table");

  inject_arguments injection;
  auto* inject_command =
      command("inject", "Run a command whose driver calls fail as rules say; its exit code is the command's",
              [&] { return inject(injection); });
  inject_command->add_option("--rules", injection.rules, "JSON rules, read again whenever the file changes")
      ->type_name("FILE");
  inject_command
      ->add_option("--fail", injection.fail,
                   "FUNCTION[:N[+]]=CODE: the N-th call, with + each later one too, else all")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  inject_command
      ->add_option("--log", injection.log,
                   "JSON lines of injections and counts (default: injections to standard error)")
      ->type_name("FILE");
  inject_command->add_flag("--strict", injection.strict, "do not run the command where a rule is wrong");
  inject_command->add_option("COMMAND", injection.command, "behind --: the command and its arguments")
      ->required();
  inject_command->footer(
      "A rule: {\"function\": \"cuMemAlloc_v2\", \"return\": \"OUT_OF_MEMORY\"}, in {\"rules\": [...]}. In "
      "place of return: delay_ms,\n"
      "kernel (trap, assert), driver_version, hide, budget_bytes, log. Which calls: caller, thread, device, "
      "min_bytes,\n"
      "max_bytes, skip, hits, every, probability with seed. When: before or after. force: also what the "
      "function cannot return.");
  std::vector<std::string> traced;
  auto* trace = command(
      "trace", "Run a command and tell its driver calls, allocations and environment look-ups, by library",
      [&] { return trace_command(traced); });
  trace->add_option("COMMAND", traced, "behind --: the command and its arguments")->required();

  std::filesystem::path test_records = "records";
  target test_target;
  auto* before = command("preflight", "For CTest: is there a GPU? Exits 77 without one, 1 if one is required",
                         [&] { return preflight(test_target, test_records); });
  before->add_option("--records", test_records, "folder of the records")->type_name("DIR");
  add_target(before, test_target);
  const char* floor_said = std::getenv("CUFAULT_FLOOR");
  int at_least = floor_said != nullptr ? std::max(1, std::atoi(floor_said)) : 1;
  auto* floor =
      command("floor", "For CTest: were enough cases executed since the preflight, and nothing left behind?",
              [&] { return check_floor(test_records, at_least); });
  floor->add_option("--records", test_records, "folder of the records")->type_name("DIR");
  floor->add_option("--at-least", at_least, "cases that must have been executed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();

  // What this program starts itself as; no names for people.
  pid_t parent = 0;
  trial_arguments one;
  std::int64_t rung = 0;
  auto* trial = command("trial", "", [&] {
    tie_to_parent(parent);
    return serve_trial(one);
  });
  trial->group("");
  trial->add_option("CASE", one.case_name)->required();
  trial->add_option("ARM", one.arm)->required();
  auto* has_rung = trial->add_option("--rung", rung);
  trial->add_option("--seed", one.seed);
  trial->add_option("--stage", one.stage);
  trial->add_option("--parent", parent)->required();
  add_target(trial, one.where);
  trial->parse_complete_callback([&] {
    if (has_rung->count() > 0) one.rung = rung;
  });

  int neighbour_device = 0;
  std::uint64_t leave_free = 0;
  auto* hold = command("neighbour", "", [&] {
    tie_to_parent(parent);
    return serve_neighbour(neighbour_device, leave_free);
  });
  hold->group("");
  hold->add_option("--device", neighbour_device);
  hold->add_option("--leave-free", leave_free)->required();
  hold->add_option("--parent", parent)->required();

  target probe_target;
  auto* probe = command("probe-stack", "", [&] {
    tie_to_parent(parent);
    return serve_probe(probe_target);
  });
  probe->group("");
  probe->add_option("--parent", parent)->required();
  add_target(probe, probe_target);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_unresolved;
  }
  return chosen();
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
  } catch (const usage_error& e) {
    std::cerr << "cufault: " << e.what() << '\n';
    return e.exit_code;
  } catch (const std::exception& e) {
    std::cerr << "cufault: " << e.what() << '\n';
    return exit_unresolved;
  }
}
