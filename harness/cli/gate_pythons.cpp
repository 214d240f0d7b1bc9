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

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <utility>

namespace cufault {
namespace {

/// A baseline proves something only where each of its frameworks can be imported.
void require_baseline(const python_environment& python, const std::filesystem::path& path) {
  for (const auto& [family, why] : python.imports())
    if (!why.empty())
      throw usage_error(fmt::format("--baseline-python {}: {}; repair it, or name cases of other frameworks",
                                    path.string(), why));
  if (python.imports().empty())
    throw usage_error(
        fmt::format("--baseline-python {}: it has no framework of the cases that are to run", path.string()));
}

/// Where nothing that the baseline has can be imported, nothing has to run. The reason of one of them.
void require_candidate(const python_environment& python, const python_environment& baseline,
                       const std::filesystem::path& path) {
  std::string why = "it has no framework that the baseline has";
  for (const auto& [family, _] : baseline.imports()) {
    const auto found = python.imports().find(family);
    if (found == python.imports().end()) continue;
    if (found->second.empty()) return;
    why = found->second;
  }
  throw usage_error(fmt::format("gate: FAILED: --candidate-python {}: {}", path.string(), why), exit_gate);
}

void print_packages(const python_environment& baseline, const python_environment& candidate) {
  std::array<record, 2> both;
  (*both[0].stack)["python"] = baseline.for_stack();
  (*both[1].stack)["python"] = candidate.for_stack();
  bool any = false;
  for (const stack_difference& d : stack_differences(both)) {
    if (d.name.find('/') != std::string::npos && d.name != "python/python") continue;
    fmt::print(std::cerr, "{}: {} -> {}\n", d.name == "python/python" ? "python" : d.name,
               d.values[0].empty() ? "absent" : d.values[0], d.values[1].empty() ? "absent" : d.values[1]);
    any = true;
  }
  if (!any) fmt::print(std::cerr, "The packages that matter are equal.\n");
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
  const auto families = families_asked(running);
  const auto environment = [&](const std::filesystem::path& path) {
    return python_environment(path, frameworks_folder(), families, running.where.device, stop,
                              std::chrono::seconds(running.import_seconds));
  };
  python_environment baseline = environment(arguments.baseline_python);
  require_baseline(baseline, arguments.baseline_python);
  python_environment candidate = environment(arguments.candidate_python);
  require_candidate(candidate, baseline, arguments.candidate_python);
  print_packages(baseline, candidate);

  std::vector<record> seen;
  std::vector<std::string> incomplete;
  for (python_environment* python : {&baseline, &candidate}) {
    const run_outcome outcome = run_cases_in(running, std::move(*python), stop);
    if (outcome.exit_code == exit_interrupted) return outcome.exit_code;
    if (outcome.record.empty())
      throw usage_error("gate: nothing to compare: no arm was selected; name other cases, or another --tier");
    const std::string which =
        fmt::format("{}: {}", python == &baseline ? "baseline" : "candidate", outcome.record.string());
    fmt::print(std::cerr, "{}\n", which);
    seen.push_back(load_record(outcome.record));
    if (!seen.back().complete) incomplete.push_back(which);
  }
  return gate_records(std::move(seen[0]), std::move(seen[1]), arguments, {}, std::move(incomplete));
}

}  // namespace cufault
