// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/sweep_codes.hpp"
#include "harness/kit/operation.hpp"
#include "harness/model/case.hpp"
#include "harness/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A sweep: every driver call inside of one operation is made to fail, one at a time, each with handle and operands of its own. A clean run, under
/// libcufault.so, says which calls there are; then each is failed with each code that matters for its function, once, and from there
/// until the operation is over; and one run in which nothing fails must succeed.
namespace cufault::sweeping {

/// Rows that behave alike, as one.
struct grouped_row {
  status_record status;  ///< of the operation
  double milliseconds = 0;
  swept_calls calls;
};

/// The case sweep.NAME: a clean run, and the operation swept in each depth: one that is not the first of its process, in one process for
/// as long as that stays as it was; and the first one, in a process for each row.
failure_case sweep_case(operation_type of);

/// What a sweep is told from outside: `cufault sweep`.
struct request {
  std::pair<int, int> shard{1, 1};  ///< of so many, only the rows of this one
  std::string
      row;  ///< only this: "libcublas:cuMemAlloc_v2:3=OUT_OF_MEMORY", + behind the number persistently
};
inline constexpr const char* shard_variable = "CUFAULT_SWEEP_SHARD";
inline constexpr const char* row_variable = "CUFAULT_SWEEP_ROW";
request request_from_environment();  ///< throws setup_failed where they make no sense

/// What such a row names.
struct named_row {
  std::string caller, function;
  std::uint64_t ordinal = 0;  ///< as in driver_call
  std::string code;
  bool persistent = false;
};
named_row row_named(const std::string& text);  ///< throws setup_failed

// ---- the parts, for their tests ----

/// A driver call of the clean run.
struct driver_call {
  std::string function, caller;
  std::uint64_t ordinal = 0;  ///< among the calls of this function by this library, from 1
  std::string phase;          ///< as in swept_calls
};
/// From the injector's log of a clean run, in order. Throws input_error.
std::vector<driver_call> calls_from(const std::string& log_name, std::string_view log);
/// "libcublas" of "libcublas.so.13", "application" of the program itself.
std::string library_name(std::string_view file_name);
/// Whether such a call leaves everything as it is.
bool only_asks(std::string_view function);

/// One run of the operation with one fault.
struct planned_row {
  std::size_t call = 0;  ///< index of the clean run's; beyond the last: nothing fails
  std::string code;
  bool persistent = false;
};
/// Calls are grouped by function, library and phase.
enum class depth {
  thin,     ///< the first call of each group, once, by its most telling code
  grouped,  ///< the first call of each group, by every code, once and persistently
  every     ///< every call, by every code, once and persistently
};
std::vector<planned_row> plan(const std::vector<driver_call>& calls, depth deep);

/// What a row came to; plain, for it lies in memory that processes share.
struct row_result {
  bool over = false;
  bool reached = false;
  bool ok = true;  ///< of the status
  char end[48]{};  ///< what became of its process in it (for_each_unobserved_row)
  char in[48]{};   ///< what the row is at: swept_calls::ended_in, should its process end there
  char status[48]{}, numbers[48]{}, again[48]{}, handle[48]{}, later[48]{}, afresh[48]{};
  std::int64_t left_bytes = 0;
  double milliseconds = 0;  ///< in the operation
};

/// Of a row in which nothing is made to fail: why the sweep proves nothing, since the operation fails by itself. Empty if it does not, or
/// if the row did not run.
std::string why_it_proves_nothing(const row_result& nothing_made_to_fail);

/// In the order of their first calls. Rows that never ran are left out.
std::vector<grouped_row> grouped(const std::vector<driver_call>& calls, const std::vector<planned_row>& rows,
                                 std::span<const row_result> results);

}  // namespace cufault::sweeping
