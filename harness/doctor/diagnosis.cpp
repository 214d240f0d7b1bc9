// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/diagnosis.hpp"

#include "harness/doctor/isolated.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace cufault {
namespace {

constexpr std::string_view no_driver = "no driver that can be used";

void say_what_is_measured(finding& f, const measured_facts& measured) {
  if (f.case_name.empty()) return;
  const bool several = f.remedy.ends_with('*');
  const std::string wanted =
      join_key(f.case_name, several ? f.remedy.substr(0, f.remedy.size() - 1) : f.remedy);
  std::set<std::string> stacks;
  for (const auto& [remedy, on] : measured.cleared)
    if (remedy == wanted || (several && remedy.starts_with(wanted))) stacks.insert(on.begin(), on.end());
  f.measured = f.remedy.empty() || stacks.empty() ? "no measured remedy"
               : stacks.size() == 1
                   ? "cleared it on one recorded stack: " + *stacks.begin()
                   : fmt::format("cleared it on {} recorded stacks of GPU, driver and cuBLAS", stacks.size());
}

probe_result run(const probe& p, const machine& m) {
  probe_result result{.name = p.name, .what = p.what, .report = {}, .unanswered = {}};
  const isolated_answer said = run_isolated([&] { return dump_json(write_json(p.look(m))); }, p.limit);
  result.milliseconds = said.milliseconds;
  result.unanswered = said.why;
  if (!said.answered) return result;
  try {
    result.report = read_json_value<probe_report>(json_cursor{parse_json(p.name, said.text)});
  } catch (const input_error& error) {
    result.unanswered = error.what();
  }
  for (finding& f : result.report.findings) say_what_is_measured(f, m.measured);
  return result;
}

}  // namespace

std::string plural_of(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::span<const enum_name<finding_level>> names_of(finding_level) {
  static constexpr std::array<enum_name<finding_level>, 3> names{{{finding_level::note, "note"},
                                                                  {finding_level::warning, "warning"},
                                                                  {finding_level::failure, "failure"}}};
  return names;
}

std::vector<probe> all_probes() {
  using namespace std::chrono_literals;
  return {
      {"variables", "values of environment variables", 5s, false, look_at_variables},
      {"search_path", "stub and compat folders in LD_LIBRARY_PATH", 5s, false, look_at_search_path},
      {"libraries", "which libraries the loader would take, and pairs that do not match", 60s, false,
       look_at_libraries},
      {"unread_variables", "variables that no library reads", 60s, false, look_at_unread_variables},
      {"driver", "the driver's library, and its CUDA version against the runtime's", 60s, false,
       look_at_driver},
      {"gpu_code", "code for this GPU in the libraries", 60s, true, look_at_gpu_code},
      {known_issues_probe, "known issues of the cuBLAS and the frameworks that are found, on these GPUs", 60s,
       true, look_at_known_issues},
      {"memory", "free memory against what a handle takes", 20s, true, look_at_memory},
      {"gpus", "other users, MIG, persistence, ECC, remapped rows", 20s, true, look_at_gpus},
      {"kernel_log", "Xid messages in the kernel's log", 5s, false, look_at_kernel_log},
      {"loaded", "which libraries a process has loaded after a product", 120s, true,
       look_at_loaded_libraries},
  };
}

std::size_t diagnosis::count(finding_level level) const {
  std::size_t found = 0;
  for (const probe_result& p : probes)
    found += static_cast<std::size_t>(std::count_if(p.report.findings.begin(), p.report.findings.end(),
                                                    [&](const finding& f) { return f.level == level; }));
  return found;
}
std::size_t diagnosis::asked() const {
  return static_cast<std::size_t>(
      std::count_if(probes.begin(), probes.end(), [](const probe_result& p) { return p.asked(); }));
}
std::size_t diagnosis::unanswered() const {
  return static_cast<std::size_t>(std::count_if(probes.begin(), probes.end(),
                                                [](const probe_result& p) { return !p.unanswered.empty(); }));
}

diagnosis examine(const std::vector<probe>& probes, const machine& m) {
  diagnosis d;
  bool driver_usable = false;
  for (const probe& p : probes) {
    if (p.needs_driver && !driver_usable) {
      d.probes.push_back({.name = p.name, .what = p.what, .report = {}, .unanswered = {}});
      d.probes.back().report.not_asked = no_driver;
      continue;
    }
    d.probes.push_back(run(p, m));
    driver_usable = driver_usable || d.probes.back().report.driver_usable;
  }
  return d;
}

void add_loaded(diagnosis& d, const std::vector<std::string>& names) {
  for (probe_result& p : d.probes)
    for (library_row& row : p.report.libraries)
      if (std::find(names.begin(), names.end(), row.name) != names.end()) row.loaded = "in the command";
}

int exit_code(const diagnosis& d, bool strict) {
  if (d.asked() == 0) return 2;
  const bool fails = d.count(finding_level::failure) > 0 || d.command_exit_code != 0;
  const bool warns = d.count(finding_level::warning) > 0 || d.unanswered() > 0;
  return fails || (strict && warns) ? 1 : 0;
}

std::string verdict_of(const diagnosis& d) {
  if (d.asked() == 0) return "unchecked";
  if (d.count(finding_level::failure) > 0 || d.command_exit_code != 0) return "failure";
  return d.count(finding_level::warning) + d.unanswered() > 0 ? "warning" : "ok";
}

std::string line_of(const diagnosis& d) {
  const std::size_t asked = d.asked(), silent = d.unanswered(), left_out = d.probes.size() - asked - silent;
  if (asked == 0) return fmt::format("no check was run, of {}", d.probes.size());
  std::vector<std::string> parts;
  std::string worst;
  for (const finding_level level : {finding_level::failure, finding_level::warning}) {
    if (d.count(level) > 0) parts.push_back(plural_of(d.count(level), name_of(level)));
    for (const bool of_driver : {true, false})  // without a driver nothing works
      for (const probe_result& p : d.probes)
        for (const finding& f : p.report.findings)
          if (f.level == level && worst.empty() && of_driver == (p.name == "driver"))
            worst = one_line(f.text);
  }
  std::string said = parts.empty() ? "no failure or warning" : fmt::format("{}", fmt::join(parts, ", "));
  said += " in " + plural_of(asked, "check");
  if (left_out > 0) said += fmt::format(", {} not asked", left_out);
  if (silent > 0) said += fmt::format(", {} without an answer", silent);
  if (d.command_exit_code != 0) said += fmt::format("; the command failed with {}", d.command_exit_code);
  if (!worst.empty())
    said += (d.count(finding_level::failure) + d.count(finding_level::warning) > 1 ? "; the worst: " : ": ") +
            worst;
  return said;
}

}  // namespace cufault
