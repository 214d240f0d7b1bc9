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

/// The matrix: every fault with every operation, and with every remedy for it. Cells are generated.
namespace cufault {

/// The smallest thing that is observed. Points to entries of the vocabularies, or to others that outlive it.
struct cell {
  const fault_type* fault = nullptr;
  const operation_type* operation = nullptr;
  handle_state state = handle_state::cold;
  timing when = timing::none;
  std::optional<std::int64_t> level{};
  const remedy_type* remedy = nullptr;  ///< null: none
};
cell_name name_of(const cell& c);

/// Operations and remedies. Tests replace the linked-in ones by others.
struct vocabulary {
  const std::vector<operation_type>& operations;
  const std::vector<remedy_type>& remedies;
};

/// Why the fault is not tried with the operation; "" if it is.
std::string why_not(const fault_type& f, const operation_type& o);

/// All cells of a fault, those without a remedy first.
std::vector<cell> cells_of(const fault_type& f, const vocabulary& v);
/// The first tier with the cell. Quick: of cells that share a process, each operation once, with a handle state, timing and level that
/// rotate. Full: all non-racing cells without a remedy, and remedies with representative operations. Nightly: all. No tier has cells that
/// use managed memory on a full device: these run only by name.
test_tier tier_of(const cell& c, const std::vector<operation_type>& operations);
/// The case matrix.FAULT: a control, and an arm for each cell.
failure_case case_of(const fault_type& f, const vocabulary& v);

/// Body of a cell's arm. Cells that run one after another in a process (isolation::lasting) share its state. `all`: operations to make
/// ready in a shared process.
void run_cell(trial& t, const cell& c, const std::vector<operation_type>& all);
/// The operation's library, if its cells have a control of their own: a library that is added then changes no recorded control. Else nullptr.
const step_library* own_library_of(const operation_type& o);
/// Body of a control: every operation of `library` that the fault is tried with, cold and warm, without the fault.
void run_control(trial& t, const fault_type& f, const std::vector<operation_type>& all,
                 const step_library* library);

}  // namespace cufault
