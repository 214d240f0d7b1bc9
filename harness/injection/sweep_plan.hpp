// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Plans the rows of an operation's sweep, and compares and groups their results. Runs nothing.
#pragma once

#include "harness/injection/call_sites.hpp"
#include "harness/injection/sweep_codes.hpp"
#include "harness/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault::sweeping {

// ---- calls ----

/// Parsed name of a row: "libcublas:cuMemAlloc_v2@0f3a97c1:2=OUT_OF_MEMORY" fails the second call at that site once, with "2+"
/// persistently. Older records name no site: "libcublas:cuMemAlloc_v2:3=OUT_OF_MEMORY".
struct named_row {
  std::string caller, function;
  std::string site{};  ///< 8 to 16 of the digits of its hash, from the first; empty where none is named
  std::uint64_t ordinal = 0;  ///< among the calls of the site; without one, of the function by the library
  std::string code{};
  bool persistent = false;
};
named_row row_named(const std::string& text);  ///< throws setup_failed

/// The digits of a call site's hash that records keep and people type.
std::string short_site(const std::string& stack);

/// A driver call of the clean runs.
struct driver_call {
  std::string function, caller;
  std::string site;           ///< program_sweep::call_site::stack
  std::uint64_t ordinal = 0;  ///< among the calls of the site, from 1
  std::string phase;          ///< as in swept_calls
};
/// Calls of a clean run, in order. Leaves out calls of unstable sites, whose numbers differ between runs. Precondition: `sites` compares
/// `log` with another run.
std::vector<driver_call> calls_from(const program_sweep::run_log& log,
                                    const std::vector<program_sweep::compared_site>& sites);
/// Index of the call that a row names. Throws setup_failed if it names none, or is ambiguous: a row without a site counts all calls of the
/// function by the library, so `calls` must contain all `sites` of these.
std::size_t call_named(const named_row& row, const std::vector<driver_call>& calls,
                       const std::vector<program_sweep::compared_site>& sites);
/// "libcublas" for "libcublas.so.13"; "application" for the program itself.
std::string library_name(std::string_view file_name);
/// True if the call changes no state.
bool only_asks(std::string_view function);

// ---- rows ----

inline constexpr std::size_t no_call = static_cast<std::size_t>(-1);
/// One run of the operation with one fault.
struct planned_row {
  std::size_t call = no_call;  ///< index of the clean run's; no_call: nothing fails
  std::string code{};
  bool persistent = false;
  bool operator==(const planned_row&) const = default;
};
enum class depth {
  thin,  ///< the first call of each group, once, by its most telling code
  /// The first and last call of each group, with every code, once and persistently. If they differ, also the call halfway between,
  /// repeatedly (rows_between).
  grouped,
  every  ///< every call, by every code, once and persistently
};
/// Indexes of calls that stand for one another. Not empty.
using call_group = std::vector<std::size_t>;
/// Groups by function, library and phase; with depth every, each call alone. In the order of their first calls.
std::vector<call_group> groups_of(const std::vector<driver_call>& calls, depth deep);
/// The first rows to run for these groups.
std::vector<planned_row> plan(const std::vector<driver_call>& calls, const std::vector<call_group>& groups,
                              depth deep);

/// Result of a row. Plain data, because it lies in memory that processes share.
struct row_result {
  bool over = false;
  bool reached = false;
  bool ok = true;  ///< of the status
  char end[48]{};  ///< what became of its process in it (for_each_unobserved_row)
  char in[48]{};   ///< what the row is at: swept_calls::ended_in, should its process end there
  char status[48]{}, numbers[48]{}, again[48]{}, handle[48]{}, later[48]{}, afresh[48]{};
  std::int64_t left_bytes = 0;  ///< of device memory left allocated, above the clean run
  double milliseconds = 0;      ///< in the operation
};

/// True if the row finished, or its process crashed or timed out in it; false if it did not start, e.g. for lack of time.
bool did_run(const row_result& r);
/// True if two failed calls stand for those between them: everything but times and bytes is equal.
bool same_result(const row_result& a, const row_result& b);
/// The next rows of a sweep with depth grouped. For each group, code and mode it bisects: two calls with different results and no run
/// between them get the call halfway. Empty if all such calls are adjacent. Between equal results nothing runs, so a different result there
/// is not found. Ignores rows that did not run, and does not repeat them.
std::vector<planned_row> rows_between(const std::vector<call_group>& groups,
                                      const std::vector<planned_row>& rows,
                                      std::span<const row_result> results);
/// Number of groups whose calls have different results for some code and mode.
std::size_t count_differing_groups(const std::vector<call_group>& groups,
                                   const std::vector<planned_row>& rows, std::span<const row_result> results);

// ---- results ----

/// Rows with equal behaviour, merged.
struct grouped_row {
  status_record status;     ///< of the operation
  double milliseconds = 0;  ///< in the operation: mean of its runs
  swept_calls calls;
};

/// For a row without a fault, at the "start" or "end": why the sweep proves nothing, since the operation fails by itself. "" if it
/// succeeded or did not run.
std::string why_it_proves_nothing(const row_result& nothing_made_to_fail, std::string_view when);

/// Merged rows in the order of their first calls. Leaves out rows that did not run.
std::vector<grouped_row> grouped(const std::vector<driver_call>& calls, const std::vector<planned_row>& rows,
                                 std::span<const row_result> results);

}  // namespace cufault::sweeping
