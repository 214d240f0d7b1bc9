// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/program_sweep_plan.hpp"
#include "harness/system/process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Judges a run of a program in which one call of the driver or a library failed. harness/cli/sweep_program.cpp runs it.
namespace cufault::program_sweep {

enum class outcome : std::uint8_t {
  reported,      ///< its exit code or its output says that something failed
  swallowed,     ///< exit code and output of a clean run
  crashed,       ///< a signal ended it
  hung,          ///< it did not end in time
  other_output,  ///< exit code of a clean run, other output, and no word of a failure
  leaked,        ///< it left behind what a clean run does not: a process, shared memory, device memory
  not_reached    ///< it made no such call
};
inline constexpr std::size_t outcomes = 7;
std::string_view name_of(outcome o);
std::optional<outcome> outcome_named(std::string_view name);
/// Without `--unacceptable`: accepted are a reported failure, and success without the call.
bool is_acceptable(outcome o);
/// True if the row is run again alone before it is believed.
bool wants_repeating(outcome o);

/// What was observed of one run.
struct run_seen {
  process_result process;
  run_log log;
  std::vector<std::string> shared_memory;  ///< files of /dev/shm that are there since it began
};
/// What all clean runs have in common. If their output differs, only words of a failure are compared.
struct clean_runs {
  std::string output, errors;  ///< standard output and standard error
  bool same_output = true, same_errors = true;
  int processes = 0;  ///< left running
  std::size_t shared_memory = 0;
  std::int64_t device_allocations = 0;
  double milliseconds = 0;  ///< of the longer one
};
clean_runs agreed(const run_seen& first, const run_seen& second);

/// What a run left behind beyond what a clean run leaves.
struct left_behind {
  int processes = 0;
  std::vector<std::string> shared_memory;
  std::int64_t device_allocations = 0;  ///< counted by calls; the driver releases them when the process ends
  bool operator==(const left_behind&) const = default;
};

struct row {
  call_site site;
  std::uint64_t ordinal = 1;
  std::string code;
  outcome came_to = outcome::not_reached;
  std::string ended;  ///< "exit 1", "SIGSEGV", "timed out"
  /// The line that reported the failure and that clean runs do not print, cut at 300 bytes (in a record: before invalid UTF-8 is replaced).
  /// Of several, the first unindented one on standard error, since frames of a traceback are indented. Empty without one.
  std::string said;
  bool acceptable = true;
  std::uint64_t injections = 0;  ///< one in each process that made the call
  double seconds = 0;
  left_behind left;
  std::vector<outcome> repeats;         ///< alone, where it was run again
  std::optional<further_call> then;     ///< it failed, too
  std::optional<further_call> further;  ///< that came after, and may fail in another row
  std::vector<std::string> where;       ///< the call was made, the innermost first: "step at train.cpp:17"
  std::string python;                   ///< "train.py:17 in step"
  std::string why;                      ///< nothing was made to fail
  bool forked = false;                  ///< it ran in a child of a process that stopped at its first call
  [[nodiscard]] bool is_repeatable() const;
  [[nodiscard]] std::string name() const { return name_of_row(site, ordinal, code, then); }
};
/// Outcome of a run with this call failed, without `acceptable` and `repeats`. Device memory left makes it `leaked` only if the program
/// ended with 0: a program that gives up leaves memory to the driver.
row judged(const call_site& site, const planned_call& call, const run_seen& seen, const clean_runs& clean);

/// True if two rows of a group stand for all rows between them.
bool same_result(const row& a, const row& b);

}  // namespace cufault::program_sweep
