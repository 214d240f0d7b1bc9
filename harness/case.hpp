// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/observation.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cufault {

class trial;

/// A precondition of a trial cannot be reached here, or somebody else disturbed it: inconclusive, a failure of nothing.
class not_provoked : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Set-up of a trial failed: nothing can be concluded from it.
class setup_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an arm needs of the machine it runs on.
enum class need { host, gpu };

/// Whether cases may share a GPU with each other, or must have it to themselves (squeezes).
enum class memory_class { shared, exclusive };

/// A ladder: one trial for each value, in this order. With `refine_to`, further trials halve the gap between
/// the last failing and the first succeeding value until it is no wider, so that the edge is measured, not
/// guessed.
struct ladder {
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
  std::string name{};  ///< unique in the case: a-z, 0-9, '_'
  arm_kind kind = arm_kind::fault;
  std::string summary{};              ///< one line
  std::vector<std::string> claims{};  ///< IDs in cases/claims.json that it tests
  std::string against{};              ///< for a remedy in place from the start: the fault arm that it answers
  std::string twin_of{};              ///< for a fault that is injected: the fault arm that has it for real
  std::function<void(trial&)> body{};  ///< runs in a process of its own
  need needs = need::gpu;
  std::map<std::string, std::string> environment{};  ///< set for the trial; an empty value unsets
  std::vector<std::string> preload{};                ///< libraries put in front of LD_PRELOAD
  std::optional<ladder> rungs{};
  int repeats = 1;            ///< trials for an arm that may race; with rungs, of every rung
  std::string races{};        ///< why its outcome may differ from trial to trial; empty: it must not
  bool other_cublas = false;  ///< takes part only where a second pair is given (trial::other_libraries)
  bool binds_itself = false;  ///< no cuBLAS is bound before the body: it loads one, observed (load_cublas)
  std::chrono::seconds timeout{60};
  resource_limits limits{};
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

  /// Adds an arm in the usual environment: code is loaded lazily, and handles get the default workspace. What else it needs is
  /// set on what this returns, before the next arm is added.
  arm& add(std::string name, arm_kind kind, std::string summary, std::function<void(trial&)> body,
           std::vector<std::string> claims = {});
};

/// All cases linked into this program, by name.
const std::vector<failure_case>& all_cases();

/// Adds a case at program start: `const register_case here{{.name = "memory.handle_leak", ...}};`
/// A malformed case (no control, no fault, two arms of one name, bad characters, no body) ends the program
/// with a line that says which and why.
struct register_case {
  explicit register_case(failure_case c);
};

/// Whether the tier of the case has this arm of it.
bool in_its_tier(const failure_case& c, const arm& a);

/// Why a case is malformed; empty if it is well formed. `register_case` uses it; tests call it directly.
std::string defect_of(const failure_case& c);

}  // namespace cufault
