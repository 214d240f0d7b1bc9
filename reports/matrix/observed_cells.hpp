// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/matrix/conditions.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/record.hpp"

#include <cstddef>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The cells of the matrix (harness/matrix) as records have them: what each came to, and what that depends on.
namespace cufault {

class row_writer;

/// What an operation came to, in a word, and in how many trials: INTERNAL_ERROR; SUCCESS, which is with right numbers; WRONG_NUMBERS;
/// "SUCCESS, then cudaErrorIllegalAddress"; SIGSEGV; TIMED_OUT.
using outcome_counts = std::map<std::string, int>;
/// "SUCCESS", "INTERNAL_ERROR or SUCCESS"; empty where nothing was observed.
std::string describe(const outcome_counts& o);
/// The same, with how often where there are several: "INTERNAL_ERROR 7 of 10, SUCCESS 3 of 10".
std::string with_rates(const outcome_counts& o);

/// What a remedy did about what the fault alone does.
enum class remedy_result {
  none,              ///< there is no remedy
  cleared,           ///< it fails without, and gives right numbers with it
  nothing_to_clear,  ///< it does not fail without it
  still_fails,
  diagnosed,  ///< a diagnosis, with which another call fails than without it
  made_worse,  ///< it fails where it did not, or by a crash, a hang, wrong numbers or a damaged context where there was none
  not_reached,   ///< the process ended before it could be applied
  not_prepared,  ///< the operation could not be prepared: it was not made with it, or not before it
  unknown        ///< one of the two was not observed
};
std::string to_string(remedy_result r);  ///< "cleared", "nothing to clear", ...; empty for none

/// A cell, on one stack.
struct observed_cell {
  std::string fault{};  ///< "kernel_trap"
  cell_name at{};
  std::string summary{};
  bool made_up = false;   ///< its fault is injected or a stand-in
  step_name operation{};  ///< its identity; empty where no cell of the stack made it
  outcome_counts
      outcome{};  ///< of the operation: without a remedy, with one in place, or before one that is applied afterwards
  outcome_counts after{};    ///< of the operation behind a remedy that is applied afterwards
  outcome_counts without{};  ///< of the cell without the remedy, where one is in place from the start
  step_name names{};         ///< of a diagnosis: the call that fails with it; empty where none does
  std::string why_not{};     ///< where nothing was observed
  std::string
      context{};  ///< afterwards: "usable", "damaged", "none", "unchecked"; several are joined by " or "
  remedy_result result = remedy_result::none;
  driver_message
      driver{};  ///< why the operation failed, by the driver; empty where it did not fail, or the driver did not say
  bool heard = false;    ///< whether its trials heard the driver's error log
  fact_map facts{};      ///< of the operation where there is no fault, in this handle state: from a control
  std::string run{};     ///< the latest that observed it: when it started, and its commit
  std::string source{};  ///< "FILE:LINE" of the record
};
bool was_observed(const observed_cell& c);
/// In the table: what the operation came to; with a remedy what that did, "still fails: INTERNAL_ERROR". Empty where nothing was observed.
std::string shown_outcome(const observed_cell& c);
/// "kernel_trap/sgemm_64.cold.arrived", which is unique on a stack.
std::string name_of(const observed_cell& c);
/// "cufault run 'matrix.kernel_trap/sgemm_64.cold.arrived'". `libraries`: of its stack.
std::string repeats(const observed_cell& c, std::string_view libraries);

struct stack_matrix {
  std::string stack{};                 ///< stack_label()
  std::size_t record = 0;              ///< its first one, by time
  std::string libraries{};             ///< library_options()
  std::vector<observed_cell> cells{};  ///< by fault, operation, remedy, level, timing and state
};

/// The cells of records that were judged; records of one stack are one. A cell of a case whose control is unresolved was not observed.
/// Stacks without a cell are left out.
std::vector<stack_matrix> matrix_of(std::span<const record> records);
/// The table observed_cells. Precondition: the records are judged.
void write_cells(row_writer& to, std::span<const record> judged, const cost_notes& costs);
/// Answers each line of `in`, {"along": "operation" or "fault", "cells": [...]}, by a line: the rules of conditions_of(), in words and as JSON; with
/// "where": OUTCOME what describe_where() says of it. Throws input_error.
void answer_conditions(std::istream& in, std::ostream& out);

/// What cells differ by, beside state, timing and level.
enum class axis { operation, fault };
/// What the outcomes of these cells depend on (with a remedy: what it did).
std::vector<rule> conditions_of(const std::vector<observed_cell>& cells, axis along);

/// "INTERNAL_ERROR" of CUBLAS_STATUS_INTERNAL_ERROR; other names are as they are.
std::string_view short_status(std::string_view status);

}  // namespace cufault
