// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/matrix/fault.hpp"
#include "harness/matrix/remedy.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/cell_name.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The matrix: every fault against every operation, and with every remedy that answers it. Nobody writes a cell by hand.
namespace cufault {

/// The smallest thing that is observed. Points into the vocabularies, or to what else outlives it.
struct cell {
  const fault_type* fault = nullptr;
  const operation_type* operation = nullptr;
  handle_state state = handle_state::cold;
  timing when = timing::none;
  std::optional<std::int64_t> level{};
  const remedy_type* remedy = nullptr;  ///< null: none
};
cell_name name_of(const cell& c);

/// Which operations and remedies there are; for tests, others than those that are linked into the program.
struct vocabulary {
  const std::vector<operation_type>& operations;
  const std::vector<remedy_type>& remedies;
};

/// Why the fault is not tried with the operation; empty where it is.
std::string why_not(const fault_type& f, const operation_type& o);

/// All cells of a fault, those without a remedy first.
std::vector<cell> cells_of(const fault_type& f, const vocabulary& v);
/// The first tier that has the cell. Quick, of cells that share a process: each operation once, with one handle state, timing and level,
/// which rotate from operation to operation. Full: all without a remedy but racing ones, and remedies with representative operations. Nightly: all. In
/// none are cells that take managed memory on a device that is full: they run only when they are named.
test_tier tier_of(const cell& c, const std::vector<operation_type>& operations);
/// The case matrix.FAULT: a control, and an arm for each cell.
failure_case case_of(const fault_type& f, const vocabulary& v);

/// The body of a cell's arm; cells that follow one another in a process (isolation::lasting) share what it makes. `all`: operations
/// that are to be ready in a process that cells share.
void run_cell(trial& t, const cell& c, const std::vector<operation_type>& all);
/// The library of an operation whose cells have a control of their own, so that a library that is added changes no recorded control. nullptr: none.
const step_library* own_library_of(const operation_type& o);
/// The body of a control: every operation of its library that is tried with the fault, cold and then warm, and no fault.
void run_control(trial& t, const fault_type& f, const std::vector<operation_type>& all,
                 const step_library* library);

}  // namespace cufault
