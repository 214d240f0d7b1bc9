// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/matrix/fault.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace cufault {

/// Something that is recommended against a fault. It is tried with every fault that it names, whether it helps or not: that is observed.
struct remedy_type {
  std::string name{};   ///< unique: a-z, 0-9, '_'
  std::string words{};  ///< as a program's author would do it: "cudaGetLastError(), then again"
  std::vector<std::string> answers{};  ///< kinds of faults
  // Set from the start, before the fault:
  std::map<std::string, std::string> environment{};
  /// Applied in a context before the fault, to each ready operation. Not with faults that come first (fault_type::before_operation).
  std::function<void(world&)> before{};
  // Or applied after the operation was made under the fault:
  std::function<void(world&)> after{};
  bool new_operation = false;            ///< then the operation is made by a new handle and operands
  std::function<void(world&)> to_new{};  ///< to the new operation, before it is made
  bool in_new_thread = false;            ///< all of the new operation
  /// The new operation is the one with this name, if the cell's operation has such a member: &operation_type::small
  std::string operation_type::*instead = nullptr;
  bool fault_again =
      false;  ///< then the fault is brought about again: a capture that is begun anew. The remedy must undo it
  bool new_process = false;                  ///< then, behind `after`, the operation is made in a new process
  bool process_ends = false;                 ///< the new process begins when the one of the fault has ended
  std::function<void(trial&)> at_restart{};  ///< first in that process
  /// In place from the start. A diagnosis shows which call fails and clears nothing: the fault's own calls are steps (world::make), and the
  /// first failing step is the last.
  bool diagnosis = false;
  /// Its effect outlives the cell, and other cells of the process would see it (cudaDeviceReset).
  bool own_process = false;

  [[nodiscard]] bool in_place() const { return !environment.empty() || before; }
};

const std::vector<remedy_type>& all_remedies();  ///< by name
std::string defect_of(const remedy_type& r);     ///< empty if it is well formed
bool answers(const remedy_type& r, const fault_type& f);

/// Adds remedies at program start. A malformed remedy ends the program with a message.
struct register_remedies {
  register_remedies(std::initializer_list<remedy_type> all);
};

}  // namespace cufault
