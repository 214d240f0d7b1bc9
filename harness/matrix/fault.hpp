// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/operation.hpp"
#include "harness/model/case.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace cufault {

class world;

/// When an asynchronous error comes. racing: while the operation is made. arrived: before it, as far as a wait can tell, but no call has
/// returned it. synchronised: before it, and the program has waited for the device.
enum class timing { none, racing, arrived, synchronised };
std::string to_string(timing t);  ///< empty for none

/// cold: the operation was only constructed (a handle, operands). warm: it was also made once before the fault.
enum class handle_state { cold, warm };
std::string to_string(handle_state s);

/// Which cells of a fault may share a process.
enum class isolation {
  process,  ///< none
  undone,   ///< the fault is undone behind each cell, so that the usual health check decides
  lasting  ///< the fault outlives operations: it is brought about once, with all operations ready (before_operation: before any), and cells
  ///< follow one another. With timing::arrived each has a process, as the first call that returns the error changes the state
};

/// A state of the process, device or environment that is caused on purpose. It meets every operation, and every remedy for it. A fault is
/// an entry in cases/faults; nothing else names it.
struct fault_type {
  std::string name{};                   ///< unique: a-z, 0-9, '_'; its case is matrix.NAME
  std::string summary{};                ///< one line
  std::vector<std::string> failures{};  ///< field failures that it shows: "F-LIF-02"
  std::string kind{};             ///< of remedies that answer it: "memory", "dead_context", "capture", ...
  std::vector<timing> timings{};  ///< empty: it has none
  std::vector<std::int64_t> levels{};                ///< one cell for each; empty: it has none
  std::string unit{};                                ///< of levels: "MiB free"
  std::map<std::string, std::string> environment{};  ///< set for the trial; an empty value unsets
  isolation cells = isolation::process;
  /// With isolation::lasting: each cold cell has a process. Set if earlier cells can use up the memory that operations load.
  bool cold_apart = false;
  /// No device memory is left at level 0, or at all without levels. Cells of operations with takes_managed_memory then run only by name.
  bool fills_device = false;
  memory_class memory = memory_class::shared;
  /// Trials of its cells and control are clients of an MPS server of their own.
  bool under_mps = false;
  /// A cell takes seconds: only representative operations are tried, and tiers have fewer cells (quick_operation).
  bool takes_seconds = false;
  /// With takes_seconds: the operation whose cells come first. The quick tier has one of them, warm; the full tier has all. Of other
  /// operations the full tier has cells without a remedy that share a process.
  std::string quick_operation{};
  bool before_context =
      false;  ///< brought about before there is a context: only operations that need none are tried
  bool before_operation = false;  ///< brought about before the operation's handle and operands are there
  /// Why the outcome may differ between trials, such as use of freed memory or a race with another stream. Such cells run several times and
  /// have rates. Empty: all trials agree.
  std::string undefined{};
  /// An injected failure or a stand-in: does not show that this happens without cufault.
  bool made_up = false;
  /// Sets what its arms and control need beside variables: libcufault.so (under_injector), a second cuBLAS. Such arms share no process.
  /// Optional.
  std::function<void(arm&)> arrange{};
  std::vector<own_handle> acts_on{};  ///< only operations with one of these handles get cells; empty: all
  /// Why it makes no sense with an operation; "" if it does. Optional.
  std::function<std::string(const operation_type&)> no_sense_with{};
  /// Causes the fault. May throw not_provoked, and say how to undo it (world::undo_by) and renew it (world::renew_by).
  std::function<void(world&)> provoke{};
  /// Runs the operation elsewhere: in a forked child, another thread, a capture. Optional.
  std::function<void(world&, const std::function<void()>& operate)> around{};
  /// Runs between the operation and its proof, for faults under which nothing can be proved, such as a capture. Its calls are steps. The
  /// proof is a step too; false: nothing to prove. Absent: operation and proof are one step.
  std::function<bool(world&, bool succeeded)> before_proof{};
};

const std::vector<fault_type>& all_faults();  ///< by name
std::string defect_of(const fault_type& f);   ///< empty if it is well formed

/// Adds faults at program start. A malformed fault ends the program with a message.
struct register_faults {
  register_faults(std::initializer_list<fault_type> all);
};

}  // namespace cufault
