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

/// Why the framework of a Python cannot be compared with that of the other; "" if it can.
std::string what_breaks(const python_environment& python, const python_environment& other,
                        const std::string& family) {
  if (const std::string& why = python.imports().at(family); !why.empty()) return why;
  const auto none = python.no_gpu().find(family), there = other.imports().find(family);
  const bool other_has =
      there != other.imports().end() && there->second.empty() && !other.no_gpu().contains(family);
  return none != python.no_gpu().end() && other_has ? none->second : std::string();
}

bool needs_no_gpu(const selected_case& s) {
  return std::ranges::any_of(
      s.arms, [](const arm* a) { return a->needs == need::host && a->kind != arm_kind::control; });
}

/// A baseline proves something only where each of its frameworks can be compared, and one of them can run.
void require_baseline(const python_environment& python, const python_environment& candidate,
                      const std::vector<selected_case>& selected, const std::filesystem::path& path) {
  std::string idle = "it has no framework of the cases that are to run";
  bool any = false;
  for (const auto& imported : python.imports()) {
    const std::string& family = imported.first;  // a lambda below takes it
    if (const std::string why = what_breaks(python, candidate, family); !why.empty())
      throw usage_error(fmt::format("--baseline-python {}: {}; repair it, or name cases of other frameworks",
                                    path.string(), why));
    const auto none = python.no_gpu().find(family);
    if (none == python.no_gpu().end() || std::ranges::any_of(selected, [&](const selected_case& s) {
          return s.what->name.starts_with(family + ".") && needs_no_gpu(s);
        }))
      any = true;
    else
      idle = none->second;
  }
  if (!any) throw usage_error(fmt::format("--baseline-python {}: {}", path.string(), idle));
}

/// Where nothing that the baseline has can be compared, nothing has to run. The reason of one of them.
void require_candidate(const python_environment& python, const python_environment& baseline,
                       const std::filesystem::path& path) {
  std::string why = "it has no framework that the baseline has";
  for (const auto& [family, _] : baseline.imports()) {
    if (!python.imports().contains(family)) continue;
    why = what_breaks(python, baseline, family);
    if (why.empty()) return;
  }
  throw usage_error(fmt::format("gate: FAILED: --candidate-python {}: {}", path.string(), why), exit_gate);
}

/// Two environments that come to the same files are one.
void require_two(const python_environment& baseline, const python_environment& candidate) {
  nlohmann::json same;
  for (const auto& [family, _] : baseline.imports()) {
    nlohmann::json is = baseline.identity(family);
    if (is["inodes"] != candidate.identity(family)["inodes"]) return;
    same = std::move(is);
  }
  if (baseline.for_stack()["packages"] == candidate.for_stack()["packages"])
    throw usage_error(fmt::format("gate: both Pythons import {}: that compares a thing with itself",
                                  same.value("file", std::string())));
}

void print_packages(const python_environment& baseline, const python_environment& candidate) {
  std::array<record, 2> both;
  for (const auto& [of, python] : {std::pair{&both[0], &baseline}, {&both[1], &candidate}}) {
    (*of->stack)["python"] = python->for_stack();
    for (const auto& [name, version] : python->keys()) (*of->stack)["keys"][name] = version;
  }
  bool any = false;
  for (const stack_difference& d : stack_differences(both)) {
    if (d.name == "python/prefix" || baseline.keys().contains(d.name)) continue;
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
  const auto selected = select_cases(running, true);
  auto both = python_environment::all({arguments.baseline_python, arguments.candidate_python},
                                      frameworks_folder(), families_of(selected), running.where.device, stop,
                                      std::chrono::seconds(running.import_seconds));
  require_baseline(both[0], both[1], selected, arguments.baseline_python);
  require_candidate(both[1], both[0], arguments.candidate_python);
  require_two(both[0], both[1]);
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
