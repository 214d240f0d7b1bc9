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

/// What an arm needs of its machine.
enum class need { host, gpu };

/// Whether cases may share a GPU, or need it alone because they fill its memory.
enum class memory_class { shared, exclusive };

/// Each tier contains the one before.
enum class test_tier { quick, full, nightly, named };

/// A level range: one trial for each value, in this order. With `refine_to`, further trials halve the gap between the last failing and the
/// first succeeding value until it is no wider. So the edge is measured.
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

/// One experiment of a case: control, fault, remedy or dead end.
struct arm {
  std::string
      name{};  ///< unique in the case: words of a-z, 0-9, '_', joined by '.' or '+' (reports/model/cell_name.hpp)
  arm_kind kind = arm_kind::fault;
  std::string summary{};              ///< one line
  std::vector<std::string> claims{};  ///< IDs in cases/claims.json that it tests
  std::string against{};              ///< for a remedy in place from the start: the fault arm that it answers
  std::string counterpart_of{};       ///< for a fault that is injected: the fault arm that has it for real
  std::function<void(trial&)> body{};  ///< runs in a child process: its own, but see shares_process
  /// Name of a framework: instead of a body, cases/frameworks has code for the given Python (cufault run --python).
  std::string framework{};
  need needs = need::gpu;
  std::map<std::string, std::string> environment{};  ///< set for the trial; an empty value unsets
  std::vector<std::string> preload{};                ///< libraries put in front of LD_PRELOAD
  std::optional<level_range> levels{};
  int repeats = 1;      ///< trials for an arm that may race; with levels, of every level
  std::string races{};  ///< why its outcome may differ from trial to trial; empty: it must not
  /// What it does is undefined behaviour, such as a use of freed memory: no program relies on it, and a change is no reason not to upgrade.
  bool undefined = false;
  /// Rates of outcomes depend on the load of the host: a gate compares only outcomes.
  bool rate_depends_on_load = false;
  /// The fault is a stand-in, or injected without a natural arm: does not show that this happens without cufault.
  bool made_up = false;
  bool other_cublas = false;  ///< takes part only where a second pair is given (trial::other_libraries)
  bool any_architecture =
      false;                  ///< the GPU cannot affect its outcome: refused on the host, or by a framework
  bool binds_itself = false;  ///< no cuBLAS is bound before the body: it loads one, observed (load_cublas)
  std::chrono::seconds timeout{60};
  resource_limits limits{};
  bool under_mps = false;  ///< its process is a client of an MPS server that nobody else uses
  /// Trials may share a process with those of other arms while it is found undamaged after each. The arm must leave the context usable,
  /// fork nothing, and measure neither the first use of a process nor free memory. Trials of a framework still have processes of their own,
  /// forked from an interpreter that has imported it.
  bool shares_process = false;
  /// Arms of a case with the same word run one after another in one process, to observe the damage that the first one does. Requires
  /// shares_process.
  std::string batch{};
  /// In a case whose arms need the GPU alone (memory_class::exclusive): this arm neither fills nor measures its memory, and runs beside
  /// others.
  bool beside_others = false;
  /// Makes driver calls seldom, because it waits or computes on the host. Such arms run in addition to the jobs, up to half as many
  /// (harness/run/scheduler.hpp).
  bool rarely_calls_driver = false;
  std::optional<test_tier> tier{};  ///< the first that has it; empty: as its case says (properties.hpp)
};

/// One documented failure with all its arms.
struct failure_case {
  std::string name{};  ///< "FAMILY.NAME", as in cases/FAMILY/NAME.cpp
  std::string summary{};
  std::vector<std::string> failures{};  ///< field failures it shows: "F-MEM-01"
  /// Arms in the tier of the case's line in cases/CMakeLists.txt; empty: all. Other arms of a quick case run in the full tier, of a nightly
  /// case only by name.
  std::vector<std::string> in_tier{};
  std::vector<arm> arms{};  ///< at least one control and one fault
  /// All faults are injected or stand-ins: they do not show that this happens without cufault.
  bool made_up = false;
  /// For families with one line in cases/CMakeLists.txt (FAMILY.*); other cases state this in their line.
  memory_class memory = memory_class::shared;

  using text = std::string;
  using ids = std::vector<std::string>;
  using to_run = std::function<void(trial&)>;
  /// Adds an arm in the usual environment: lazy loading of code, default workspace of handles. Set other needs on the returned arm before
  /// the next one is added.
  arm& add(text name, arm_kind kind, text summary, to_run body, ids claims = {});
  arm& control(const text& summary, const to_run& body, const ids& claims = {}) {
    return add("control", arm_kind::control, summary, body, claims);
  }
  arm& fault(const text& name, const text& summary, const to_run& body, const ids& claims = {}) {
    return add(name, arm_kind::fault, summary, body, claims);
  }
  arm& remedy(const text& name, const text& summary, const to_run& body, const ids& claims = {}) {
    return add(name, arm_kind::remedy, summary, body, claims);
  }
  arm& dead_end(const text& name, const text& summary, const to_run& body, const ids& claims = {}) {
    return add(name, arm_kind::dead_end, summary, body, claims);
  }

  /// Adds an arm of the case's framework (its family), which runs in the given Python. The environment is the usual one.
  arm& add_framework(text name, arm_kind kind, text summary, ids claims = {});

  /// Sets arm::shares_process for the arms added so far, except these.
  void share_process(const std::vector<std::string>& but = {});
  void share_process_of(const std::vector<std::string>& names);  ///< only those named
  /// Sets arm::beside_others for these arms.
  void run_beside_others(const std::vector<std::string>& names);
  /// Sets arm::any_architecture for these arms.
  void fail_on_any_architecture(const std::vector<std::string>& names);
  /// Marks these arms as undefined, repeats them and records rates. `why`: value of arm::races.
  void repeat_undefined(const std::vector<std::string>& names, const std::string& why, int trials = 3);
};

/// All cases linked into this program, sorted by name.
const std::vector<failure_case>& all_cases();
/// Cases with registrations of their own, and at least these families of generated cases (register_cases): generating the matrix takes most
/// of a second. Valid until further families are requested.
const std::vector<failure_case>& cases_with_families(const std::set<std::string>& families);

/// Adds a case at program start: `const register_case here{{.name = "memory.handle_leak", ...}};` A malformed case (no control, no fault,
/// two arms of one name, bad characters, no body) ends the program with a message. `fill` adds the arms of a case that is not one expression.
struct register_case {
  explicit register_case(failure_case c);
  register_case(std::string name, std::string summary, std::vector<std::string> failures,
                void (*fill)(failure_case&));
};

/// Registers a family of cases generated from a vocabulary (operations, faults) at the first request, after main() began and the vocabulary
/// is complete. `made` gets the name of the wanted case, or "" for all. No other case may have this `family`. A malformed case ends the
/// program.
struct register_cases {
  using maker = std::function<std::vector<failure_case>(std::string_view only)>;
  register_cases(std::string family, maker made);
};

/// The case of that name, or null. Generates no other case.
const failure_case* find_case(std::string_view name);

/// The arm of that name, or null.
const arm* find_arm(const failure_case& c, std::string_view name);
const arm* find_arm(std::string_view case_name, std::string_view name);

/// True if the tier of the case contains this arm.
bool in_its_tier(const failure_case& c, const arm& a);

/// Why a case is malformed; "" if it is not. Used by `register_case` and tests.
std::string defect_of(const failure_case& c);

}  // namespace cufault
