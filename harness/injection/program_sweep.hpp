// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/process.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A sweep of any program: its calls of the driver or of libraries by call site, one of them failed in each run, and what the program came to.
/// Pure: what runs the program is harness/cli/sweep_program.cpp.
namespace cufault::program_sweep {

/// Where a program calls the driver or a library: the same in each run of the same files. `stack` is a hash of the five innermost callers, each by
/// its file (build ID, or else name) and its offset there (harness/injector/call_stack.cpp).
struct call_site {
  std::string library;   ///< file name of the calling library; the program's own name for the program
  std::string offset;    ///< of the call in it: "0x2dea"
  std::string function;  ///< "cuMemAlloc_v2", "cublasSgemm_v2"
  std::string stack;     ///< 16 hexadecimal digits
  bool operator==(const call_site& other) const { return function == other.function && stack == other.stack; }
};

/// How often one run called at a site: the most calls of one process, and in how many processes.
struct site_count {
  std::uint64_t calls = 0, processes = 0;
  bool operator==(const site_count&) const = default;
};
struct counted_site {
  call_site site;
  site_count count;
};

/// What the injector's log tells of one run.
struct run_log {
  std::vector<counted_site> sites;  ///< of logged calls with a call stack, in the order of their first calls
  std::uint64_t programs = 0;       ///< that loaded the injector
  std::uint64_t injections = 0;     ///< calls that were made to fail
  std::int64_t device_allocations = 0;  ///< made and not released by the calls that were logged
  std::uint64_t unread = 0;             ///< lines that are no JSON: cut off by the end of their process
};
run_log read_log(const std::filesystem::path& log);  ///< a file that is not there is an empty log
/// Rules under which a run logs each call with its call stack: of the driver, or where `libraries` names some ("cublas"), of these, and then
/// also what allocates and releases device memory, without a call stack.
std::string rules_that_log_all(const std::vector<std::string>& libraries);
/// Only what allocates and releases device memory.
std::string rules_that_log_memory();

/// A site of two clean runs. One that does not have the same count in both cannot be indexed.
struct compared_site {
  call_site site;
  site_count first, second;
  [[nodiscard]] bool is_stable() const { return first == second; }
};
std::vector<compared_site> compare(const std::vector<counted_site>& first,
                                   const std::vector<counted_site>& second);

/// Why no call at the site can be made to fail; empty where one can.
std::string why_left_alone(const call_site& site);
/// Codes worth trying, as rules take them; the first one is that of depth thin and grouped. Of the driver's functions, those that the function
/// can return. Of a library's, which may return any status, a few of its header: first one that fits what the function does.
std::vector<std::string> codes_of(std::string_view function);

struct planned_call {
  std::size_t site = 0;  ///< of compared sites
  std::uint64_t ordinal = 1;
  std::string code;
  bool operator==(const planned_call&) const = default;
};
/// The first call of each site, by one code. Like the others below: stable sites only, first those that are first of a function, then
/// those that are first of a function and a library, then the rest, so that a budget finds most.
std::vector<planned_call> plan_thin(const std::vector<compared_site>& sites);
/// Every call of each site, by each of its codes.
std::vector<planned_call> plan_every(const std::vector<compared_site>& sites);
/// Every call, by one code, in groups of one function and library. In each the first and the last one are tried; where they differ it is
/// split.
std::vector<std::vector<planned_call>> plan_groups(const std::vector<compared_site>& sites);

/// What `cufault inject --fail` reads: "cuMemAlloc_v2@STACK:3=OUT_OF_MEMORY". Names the row in a record.
std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code);

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
/// Without an oracle of the user's: a program may report a failure, or do without the call.
bool is_acceptable(outcome o);
/// To be run again alone before it is believed.
bool wants_repeating(outcome o);

/// What was seen of one run.
struct run_seen {
  process_result process;
  run_log log;
  std::vector<std::string> shared_memory;  ///< files of /dev/shm that are there since it began
};
/// What the clean runs agree in. Of output that differs between them nothing is compared but words of a failure.
struct clean_runs {
  std::string output, errors;  ///< standard output and standard error
  bool same_output = true, same_errors = true;
  int processes = 0;  ///< left running
  std::size_t shared_memory = 0;
  std::int64_t device_allocations = 0;
  double milliseconds = 0;  ///< of the longer one
};
clean_runs agreed(const run_seen& first, const run_seen& second);

/// What a run left behind, beyond what a clean one does.
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
  bool acceptable = true;
  std::uint64_t injections = 0;  ///< one in each process that made the call
  double seconds = 0;
  left_behind left;
  std::vector<outcome> repeats;  ///< alone, where it was run again
  [[nodiscard]] bool is_repeatable() const;
  [[nodiscard]] std::string name() const { return fail_text(site, ordinal, code); }
};
/// What a run with that call failed came to, but for `acceptable` and `repeats`. Device memory that is left makes it `leaked` only where
/// the program ended with 0, as one that gives up leaves it to the driver.
row judged(const call_site& site, const planned_call& call, const run_seen& seen, const clean_runs& clean);

/// That two rows of a group stand for those between them.
bool same_result(const row& a, const row& b);

/// "as typed", for a POSIX shell.
std::string quoted(const std::vector<std::string>& command);

// ---- the record: JSON Lines, each written when it is known (reports/schemas/program-sweep-line.schema.json) ----

struct header {
  std::string version, began;  ///< of cufault; UTC
  std::vector<std::string> command;
  std::vector<std::string> libraries;  ///< whose calls were listed and failed; none: the driver's
  std::string depth, ok;               ///< ok: the oracle's command; empty for none
  double timeout_seconds = 0;
  std::size_t shard = 1, shards = 1;
  std::size_t sites = 0;  ///< lines of them follow
  clean_runs clean;
};
struct group_result {
  std::string function, library, code;
  outcome came_to = outcome::reported;
  std::uint64_t calls = 0;  ///< that it stands for
};
struct totals {
  std::uint64_t rows = 0, findings = 0, not_reached = 0, left_out = 0;
  int exit_code = 0;
  bool interrupted = false;
};
std::string line_of(const header& h);
std::string line_of(const compared_site& s);
std::string line_of(const row& r, const std::vector<std::string>& command);
std::string line_of(const group_result& g);
std::string line_of(const totals& t);
row read_row(std::string_view line);  ///< throws input_error

/// A record that is to be continued.
struct earlier_record {
  header head;
  std::vector<compared_site> sites;
  std::vector<row> rows;
  std::vector<std::string> groups;  ///< lines of groups, each with its line break
  std::size_t bytes = 0;            ///< of its whole lines: what comes behind was cut off by a kill
};
/// Throws input_error, naming file and line.
earlier_record read_record(const std::filesystem::path& file);

}  // namespace cufault::program_sweep
