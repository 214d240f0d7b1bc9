// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/errors.hpp"
#include "reports/model/observation.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class trial;

/// What an arm needs of the machine it runs on.
enum class need { host, gpu };

/// Whether cases may share a GPU with each other, or must have it to themselves, because they fill its memory.
enum class memory_class { shared, exclusive };

/// Each has all that is in the one before.
enum class test_tier { quick, full, nightly, named };

/// A level range: one trial for each value, in this order. With `refine_to`, further trials halve the gap between
/// the last failing and the first succeeding value until it is no wider, so that the edge is measured, not
/// guessed.
struct level_range {
  std::string unit{};                  ///< "MiB free"
  std::vector<std::int64_t> values{};  ///< ascending
  std::int64_t refine_to = 0;          ///< 0: no refinement
};

/// Limits that a trial sets on itself before anything else runs.
struct resource_limits {
  std::optional<std::uint64_t> address_space_bytes{};
  std::optional<std::uint64_t> open_files{};
};

/// One run of a case: control, fault, remedy or dead end.
struct arm {
  std::string
      name{};  ///< unique in the case: words of a-z, 0-9, '_', joined by '.' or '+' (reports/model/cell_name.hpp)
  arm_kind kind = arm_kind::fault;
  std::string summary{};              ///< one line
  std::vector<std::string> claims{};  ///< IDs in cases/claims.json that it tests
  std::string against{};              ///< for a remedy in place from the start: the fault arm that it answers
  std::string counterpart_of{};       ///< for a fault that is injected: the fault arm that has it for real
  std::function<void(trial&)> body{};  ///< runs in a child process: its own, but see shares_process
  /// The name of a framework: in place of a body, cases/frameworks has what runs in the Python that was given (cufault run --python).
  std::string framework{};
  need needs = need::gpu;
  std::map<std::string, std::string> environment{};  ///< set for the trial; an empty value unsets
  std::vector<std::string> preload{};                ///< libraries put in front of LD_PRELOAD
  std::optional<level_range> levels{};
  int repeats = 1;      ///< trials for an arm that may race; with levels, of every level
  std::string races{};  ///< why its outcome may differ from trial to trial; empty: it must not
  /// The rates of its outcomes depend on how busy the host is: a gate compares the outcomes, and not their rates.
  bool rate_depends_on_load = false;
  /// Its fault is a stand-in, or injected without a natural arm: it does not show that this happens without cufault.
  bool made_up = false;
  bool other_cublas = false;  ///< takes part only where a second pair is given (trial::other_libraries)
  bool any_architecture =
      false;                  ///< the GPU cannot affect its outcome: refused on the host, or by a framework
  bool binds_itself = false;  ///< no cuBLAS is bound before the body: it loads one, observed (load_cublas)
  std::chrono::seconds timeout{60};
  resource_limits limits{};
  bool under_mps = false;  ///< its process is a client of an MPS server that nobody else uses
  /// Its trials may run one after another with those of others in one process, as long as that is found undamaged after each: it leaves
  /// the context usable, forks nothing, and neither measures what is first in a process nor how much memory is left. Trials of a
  /// framework are processes of their own all the same: forked from one interpreter, which has imported it.
  bool shares_process = false;
  /// Arms of a case that say the same word here share a process for the damage that the first of them does, and run one after another in
  /// it; not empty only with shares_process.
  std::string batch{};
  /// Of a case whose arms have the GPU to themselves (memory_class::exclusive): this one neither fills nor measures the GPU's memory, and
  /// runs beside others.
  bool beside_others = false;
  /// Makes no driver call for most of its time, because it waits or computes on the host. Such arms run in addition to the jobs: up to half as
  /// many as there are jobs (harness/run/scheduler.hpp).
  bool rarely_calls_driver = false;
  std::optional<test_tier> tier{};  ///< the first that has it; empty: as its case says (properties.hpp)
};

/// One documented failure with everything around it.
struct failure_case {
  std::string name{};  ///< "FAMILY.NAME", as in cases/FAMILY/NAME.cpp
  std::string summary{};
  std::vector<std::string> failures{};  ///< field failures it shows: "F-MEM-01"
  /// Names of its arms that the tier of its line in cases/CMakeLists.txt has (empty: all); of a quick case the others are in the
  /// full tier, of a nightly one they run only when they are named.
  std::vector<std::string> in_tier{};
  std::vector<arm> arms{};  ///< at least one control and one fault
  /// Its faults are injected or stand-ins: they do not show that this happens without cufault.
  bool made_up = false;
  /// Where one line of cases/CMakeLists.txt is for all cases of its family (FAMILY.*); a line of its own says it otherwise.
  memory_class memory = memory_class::shared;

  /// Adds an arm in the usual environment: code is loaded lazily, and handles get the default workspace. What else it needs is
  /// set on what this returns, before the next arm is added.
  arm& add(std::string name, arm_kind kind, std::string summary, std::function<void(trial&)> body,
           std::vector<std::string> claims = {});

  /// Adds an arm of the case's framework, its family, which runs in the Python that was given. The environment is the usual one.
  arm& add_framework(std::string name, arm_kind kind, std::string summary,
                     std::vector<std::string> claims = {});

  /// The arms added so far share a process (arm::shares_process), but not those named.
  void share_process(const std::vector<std::string>& but = {});
  void share_process_of(const std::vector<std::string>& names);  ///< only those named
  /// Of the arms added so far those named run beside others (arm::beside_others).
  void run_beside_others(const std::vector<std::string>& names);
  /// Of the arms added so far no GPU can affect those named (arm::any_architecture).
  void fail_on_any_architecture(const std::vector<std::string>& names);
  /// Of the arms added so far those named do what the documentation leaves undefined: they race, so that a record has their rates. `why`: of
  /// arm::races.
  void repeat_undefined(const std::vector<std::string>& names, const std::string& why, int trials = 3);
};

/// All cases linked into this program, by name.
const std::vector<failure_case>& all_cases();
/// The cases that are not made of a vocabulary, and of those that are (register_cases) at least these families: making the matrix takes most of a
/// second. Valid until further families are asked for.
const std::vector<failure_case>& cases_with_families(const std::set<std::string>& families);

/// Adds a case at program start: `const register_case here{{.name = "memory.handle_leak", ...}};`
/// A malformed case (no control, no fault, two arms of one name, bad characters, no body) ends the program
/// with a line that says which and why.
struct register_case {
  explicit register_case(failure_case c);
};

/// Cases that are made of a vocabulary (operations, faults), when they are first asked for: after main() began, so that all of the
/// vocabulary is registered. `family`: of their names, with nothing else in it. `made` gets the name of the one case that is wanted, or "" for
/// all. A malformed case ends the program.
struct register_cases {
  using maker = std::function<std::vector<failure_case>(std::string_view only)>;
  register_cases(std::string family, maker made);
};

/// The case of that name, or null: without making all others, which a process of one trial does not need.
const failure_case* find_case(std::string_view name);

/// An arm of it, or null.
const arm* find_arm(const failure_case& c, std::string_view name);
const arm* find_arm(std::string_view case_name, std::string_view name);

/// Whether the tier of the case has this arm of it.
bool in_its_tier(const failure_case& c, const arm& a);

/// Why a case is malformed; empty if it is well formed. `register_case` uses it; tests call it directly.
std::string defect_of(const failure_case& c);

}  // namespace cufault
