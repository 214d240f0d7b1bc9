// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/machine.hpp"
#include "reports/base/enum_names.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cufault {

enum class finding_level {
  note,     ///< worth knowing
  warning,  ///< fails under conditions that were not looked at, or is not what was meant
  failure   ///< something would fail
};
std::span<const enum_name<finding_level>> names_of(finding_level);

struct finding {
  finding_level level = finding_level::note;
  std::string text{};
  std::string advice{};     ///< a sentence that says what to do
  std::string case_name{};  ///< "environment.driver_missing": the case that shows it; empty where none does
  /// Its arm that is to clear it: "drop_the_stub"; "new_process_*": all arms of that name; empty where there is none.
  std::string remedy{};
  std::string command{};   ///< to copy
  std::string measured{};  ///< of the remedy: on how many stacks it cleared, or "no measured remedy"
  std::string harm{};      ///< of a known issue: one of `harms`
  std::string decides{};   ///< where every call of CUDA fails by it: the cause, as `explain` names it
  friend bool operator==(const finding&, const finding&) = default;
};

/// One library name, by the three ways of asking where it comes from.
struct library_row {
  std::string name{};                  ///< "libcublas.so.13"
  std::string loaded{};                ///< by the maps of a process after a product; empty: not asked
  std::string found{}, found_by{};     ///< what the search order gives a program that opens it by name
  std::vector<std::string> on_disk{};  ///< files, with their versions
  friend bool operator==(const library_row&, const library_row&) = default;
};

/// What a probe saw.
struct probe_report {
  std::vector<finding> findings{};
  std::vector<std::string> seen{};  ///< lines that are neither good nor bad
  std::vector<library_row> libraries{};
  std::string not_asked{};     ///< why nothing was looked at; empty where something was
  bool driver_usable = false;  ///< of the probe that asks the driver
};

template <class Fields>
void describe_fields(finding& f, Fields& fields) {
  fields.required("level", f.level);
  fields.required("text", f.text);
  fields("advice", f.advice);
  fields("case", f.case_name);
  fields("remedy", f.remedy);
  fields("command", f.command);
  fields("measured", f.measured);
  fields("harm", f.harm);
  fields("decides", f.decides);
}
template <class Fields>
void describe_fields(library_row& r, Fields& fields) {
  fields.required("name", r.name);
  fields("loaded", r.loaded);
  fields("found", r.found);
  fields("found_by", r.found_by);
  fields("on_disk", r.on_disk);
}
template <class Fields>
void describe_fields(probe_report& r, Fields& fields) {
  fields("findings", r.findings);
  fields("seen", r.seen);
  fields("libraries", r.libraries);
  fields("not_asked", r.not_asked);
  fields("driver_usable", r.driver_usable);
}

/// A question to the machine. It runs in a process of its own and may crash or hang there.
struct probe {
  std::string name{};  ///< "search_path"
  std::string what{};  ///< one line: what it looks at
  std::chrono::milliseconds limit{};
  bool needs_driver = false;  ///< not asked where the driver is not usable
  std::function<probe_report(const machine&)> look{};
};

struct library_here {
  std::string name{}, version{};  ///< "libcublas.so.13"; version: empty where it does not say
  std::filesystem::path file{};
  std::string by{};  ///< by which rule a program gets it; "no search path" where by none
};
/// Files of a stem, "libcublas", on this machine, at most six: what programs get by name first.
std::vector<library_here> libraries_here(const machine& m, const std::string& stem);

/// All of them, the driver's before those that need it.
std::vector<probe> all_probes();
inline constexpr const char* known_issues_probe = "known_issues";

probe_report look_at_variables(const machine& m);
probe_report look_at_unread_variables(const machine& m);
probe_report look_at_search_path(const machine& m);
probe_report look_at_libraries(const machine& m);
probe_report look_at_driver(const machine& m);
probe_report look_at_gpu_code(const machine& m);
probe_report look_at_known_issues(const machine& m);
probe_report look_at_memory(const machine& m);
probe_report look_at_gpus(const machine& m);
probe_report look_at_kernel_log(const machine& m);
probe_report look_at_loaded_libraries(const machine& m);

}  // namespace cufault
