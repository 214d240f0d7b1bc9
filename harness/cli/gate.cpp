// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/gate.hpp"

#include "harness/cli/command_line.hpp"
#include "harness/cli/selection.hpp"
#include "reports/base/json_input.hpp"
#include "reports/printers/comparison.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr const char* everything = "*";

/// By join_key(): what a record was asked for, as the catalogue of this cufault has it. Of a name that it does not have: everything.
std::set<std::string> arms_asked_of(const record& r) {
  std::set<std::string> arms;
  // Of a run from before records said it. A stack has no version, and was asked for what it has.
  if (r.asked.empty() && !r.version.empty()) arms.insert(everything);
  for (const asked_for& asked : r.asked) {
    run_arguments as;
    as.names = asked.cases;
    as.tier = tier_of(asked.tier);
    if (asked.part.size() == 2) as.part = {asked.part[0], asked.part[1]};
    try {
      for (const selected_case& s : select_cases(as, r.stack->is_object() && r.stack->contains("python")))
        for (const arm* const a : s.arms) arms.insert(join_key(s.what->name, a->name));
    } catch (const usage_error&) {
      arms.insert(everything);
    }
  }
  return arms;
}

/// Records of one stack as one. Nothing where none of them could be read, which has been said. `incomplete`: runs that did not come to
/// their end are added.
std::optional<record> load_side(const std::vector<fs::path>& named, const char* option, unread_files& unread,
                                std::vector<std::string>& incomplete) {
  std::vector<record> runs;
  each_record(
      named,
      [&](const fs::path& file, record r) {
        if (!r.complete)
          incomplete.push_back(cell(fmt::format("{} {}", option, file.string()), table_style::text));
        runs.push_back(std::move(r));
      },
      unread.take());
  std::vector<record> stacks = merged_by_stack(std::move(runs));
  if (stacks.size() > 1) {
    std::vector<std::string> labels;
    for (const record& r : stacks) labels.push_back(stack_label(r));
    throw usage_error(cell(fmt::format("{}: records of {} stacks ({}); name those of one", option,
                                       stacks.size(), fmt::join(labels, "; ")),
                           table_style::text));
  }
  if (!stacks.empty()) return std::move(stacks.front());
  if (unread.lines.empty()) throw usage_error(fmt::format("{}: there is no record in it", option));
  return {};
}

int run_gate(const gate_arguments& arguments) {
  if (!arguments.baseline_python.empty()) return gate_pythons(arguments);
  unread_files unread;
  std::vector<std::string> incomplete;
  std::optional<record> baseline = load_side(arguments.baseline, "--baseline", unread, incomplete),
                        candidate = load_side(arguments.candidate, "--candidate", unread, incomplete);
  if (!baseline || !candidate) {  // why has been said
    if (arguments.json)
      std::cout << json_of_failure(exit_unresolved, fmt::format("{}", fmt::join(unread.lines, "; "))) << '\n';
    return exit_unresolved;
  }
  return gate_records(*std::move(baseline), *std::move(candidate), arguments, std::move(unread.lines),
                      std::move(incomplete));
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
  add_named(gate, "--baseline", said->baseline, "RECORD", what)->check(CLI::ExistingPath);
  add_named(gate, "--candidate", said->candidate, "RECORD", what)->check(CLI::ExistingPath);
  add_named(gate, "--baseline-python", said->baseline_python, "PATH",
            "Python of the environment that is known to be good")
      ->check(not_empty);
  add_named(gate, "--candidate-python", said->candidate_python, "PATH",
            "Python of the environment to be judged")
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
  add_named(gate, "--cublas", said->run.where.cublas, "PATH",
            "with Pythons: cuBLAS library or its folder, for both (default: that of each environment)")
      ->check(not_empty);
  gate->add_option("--device", said->run.where.device, "with Pythons: CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_named(
      gate, "--allow", said->allow, "FILE",
      "JSON file of changes that may pass, each with a reason and an expiry date (allowances.schema.json)")
      ->check(CLI::ExistingFile);
  gate->add_option("--at-least", said->at_least, "cases of the candidate that must have been executed")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->envname("CUFAULT_FLOOR")
      ->capture_default_str();
  add_named(gate, "--date", said->date, "YYYY-MM-DD",
            "the day by which allowances expire (default: today, UTC)")
      ->check([](const std::string& text) { return is_date(text) ? "" : "expected a date: YYYY-MM-DD"; });
  add_comparison_style(gate, *said);
}

const register_command gate_here{"gate", add_gate, first(section::every_night, 1), {needs::source_tree}};

}  // namespace

comparison_terms terms_of(std::span<const record> records) {
  std::vector<std::set<std::string>> asked;
  for (const record& r : records) asked.push_back(arms_asked_of(r));
  return {.asked = [asked = std::move(asked)](std::size_t of, const std::string& case_name,
                                              const std::string& arm) {
    return asked[of].contains(everything) || asked[of].contains(join_key(case_name, arm));
  }};
}

int print_compared(const comparison& all, const std::string& command, const comparison_style& style) {
  const arm_extent extent = style.names     ? arm_extent::names
                            : style.in_full ? arm_extent::whole
                                            : arm_extent::groups;
  if (style.json)
    print_json(to_json(all));
  else
    print_comparison(std::cout, all, command, style.style(), extent);
  if (command == "gate") return exit_code(exit_reasons(all));
  return differing_in(all) == 0 ? 0 : int{exit_gate};
}

void add_comparison_style(CLI::App* command, comparison_style& style) {
  CLI::Option* const names = command->add_flag(
      "--names", style.names, "print the names of all arms that differ, in place of a line a change");
  command->add_flag("--in-full", style.in_full, "print of each arm that differs all that each record saw")
      ->excludes(names);
  add_form(command, style, "comparison");
}

std::function<void(const std::string&)> unread_files::take() {
  return [this](const std::string& why) {
    lines.push_back(cell(why, table_style::text));
    fmt::print(std::cerr, "cufault: {}\n", lines.back());
  };
}

int gate_records(record baseline, record candidate, const gate_arguments& arguments,
                 std::vector<std::string> unread, std::vector<std::string> incomplete) {
  const std::array both{std::move(baseline), std::move(candidate)};
  comparison_terms terms = terms_of(both);
  terms.at_least = static_cast<std::size_t>(arguments.at_least);
  terms.today =
      arguments.date.empty() ? fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))) : arguments.date;
  if (!arguments.allow.empty()) terms.allowances = load_allowances(arguments.allow);
  comparison all = compare(both, terms);
  all.records[0].role = "baseline";
  all.records[1].role = "candidate";
  all.unread = std::move(unread);
  all.incomplete = std::move(incomplete);
  return print_compared(all, "gate", arguments);
}

}  // namespace cufault
