// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault gate --baseline-python A --candidate-python B: runs the same cases in both, and compares the two records.
#include "harness/cli/gate.hpp"
#include "harness/cli/paths.hpp"
#include "harness/cli/selection.hpp"
#include "harness/cli/usage_error.hpp"
#include "harness/system/process.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/frameworks.hpp"
#include "reports/printers/summary.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <utility>

namespace cufault {
namespace {

bool runs_without_gpu(const std::vector<selected_case>& selected, const std::string& family) {
  return std::ranges::any_of(selected, [&](const selected_case& s) {
    return s.what->name.starts_with(family + ".") && std::ranges::any_of(s.arms, [](const arm* a) {
             return a->needs == need::host && a->kind != arm_kind::control;
           });
  });
}

/// Why no framework of a Python can be compared with that of the other; "" if one can. Of a baseline, which proves something only where each
/// can, why one cannot.
std::string why_not(const python_environment& python, const python_environment& other,
                    const std::vector<selected_case>& selected, bool is_baseline) {
  std::string why = is_baseline ? "it has no framework of the cases that are to run"
                                : "it has no framework that the baseline has";
  bool any = false;
  for (const auto& [family, imported] : python.imports()) {
    const auto there = other.imports().find(family), none = python.no_gpu().find(family);
    if (!is_baseline && there == other.imports().end()) continue;
    const bool other_has_gpu =
        there != other.imports().end() && there->second.empty() && !other.no_gpu().contains(family);
    std::string here = imported;
    if (here.empty() && none != python.no_gpu().end() &&
        (other_has_gpu || !runs_without_gpu(selected, family)))
      here = none->second;
    if (is_baseline && (!imported.empty() || (!here.empty() && other_has_gpu)))
      return here + "; repair it, or name cases of other frameworks";
    any = any || here.empty();
    if (!here.empty()) why = here;
  }
  return any ? std::string() : why;
}

/// What an import found, without its place: two copies of one build have the same.
nlohmann::json build_of(const python_environment& python, const std::string& family) {
  nlohmann::json is = python.for_stack()["frameworks"][family];
  for (const char* about : {"file", "metadata", "shadowed", "unmet"}) is.erase(about);
  for (auto& library : is["libraries"]) library.erase("path");
  return is;
}

/// Leaves out families that are the same files in both, and throws where nothing is left.
void require_two(std::vector<python_environment>& both) {
  const std::map<std::string, std::string> baseline = both[0].imports();
  std::size_t same = 0;
  for (const auto& [family, failed] : baseline) {
    const nlohmann::json is = both[0].identity(family), other = both[1].identity(family);
    if (is.empty() || other.empty()) continue;
    if (is["inodes"] != other["inodes"]) {
      if (build_of(both[0], family) == build_of(both[1], family))
        fmt::print(std::cerr,
                   "{} of both looks like one build at two places: versions and build ids are equal\n",
                   family);
      continue;
    }
    const std::string why =
        fmt::format("both Pythons import the same files: {}", is.value("file", std::string()));
    if (++same == baseline.size()) throw usage_error("gate: " + why);
    for (python_environment& python : both) python.leave_out(family, why);
    fmt::print(std::cerr, "{} is not compared: {}\n", family, why);
  }
}

void print_packages(const python_environment& baseline, const python_environment& candidate) {
  std::array<record, 2> both;
  for (const auto& [of, python] : {std::pair{&both[0], &baseline}, {&both[1], &candidate}}) {
    (*of->stack)["python"] = python->for_stack();
    for (const auto& [name, version] : python->keys()) (*of->stack)["keys"][name] = version;
  }
  auto rows = stack_differences(both);
  std::erase_if(rows, [&](const stack_difference& d) { return baseline.keys().contains(d.name); });
  const std::string text = keys_text(rows, "");
  fmt::print(std::cerr, "{}\n",
             text.empty() ? "The packages that matter are equal." : "The packages differ: " + text);
}

}  // namespace

int gate_pythons(const gate_arguments& arguments) {
  run_arguments running = arguments.run;
  running.quiet = true;
  if (running.names.empty())
    for (const python_framework& f : python_frameworks) running.names.emplace_back(f.name);
  // Of a program with fewer cases: those that it has.
  std::erase_if(running.names, [&](const std::string& name) {
    return arguments.run.names.empty() &&
           std::ranges::none_of(all_cases(), [&](const failure_case& c) { return names_case(name, c); });
  });
  const interrupt_guard guard;
  const int stop = guard.descriptor();
  const auto selected = select_cases(running, true);
  auto both = python_environment::all({arguments.baseline_python, arguments.candidate_python},
                                      frameworks_folder(), families_of(selected), running.where.device, stop,
                                      std::chrono::seconds(running.import_seconds));
  if (const std::string why = why_not(both[0], both[1], selected, true); !why.empty())
    throw usage_error(fmt::format("--baseline-python {}: {}", arguments.baseline_python.string(), why));
  if (const std::string why = why_not(both[1], both[0], selected, false); !why.empty())
    throw usage_error(
        fmt::format("gate: FAILED: --candidate-python {}: {}", arguments.candidate_python.string(), why),
        exit_gate);
  require_two(both);
  print_packages(both[0], both[1]);

  std::vector<record> seen;
  std::vector<std::string> incomplete;
  for (const char* side : {"baseline", "candidate"}) {
    const run_outcome outcome = run_cases_in(running, std::move(both[seen.size()]), stop);
    if (outcome.exit_code == exit_interrupted) return outcome.exit_code;
    if (outcome.record.empty())
      throw usage_error("gate: nothing to compare: no arm was selected; name other cases, or another --tier");
    const std::string which = fmt::format("{}: {}", side, outcome.record.string());
    fmt::print(std::cerr, "{}\n", which);
    seen.push_back(load_record(outcome.record));
    if (!seen.back().complete) incomplete.push_back(which);
  }
  return gate_records(std::move(seen[0]), std::move(seen[1]), arguments, {}, std::move(incomplete));
}

}  // namespace cufault
