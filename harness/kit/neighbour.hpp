// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/second_process.hpp"
#include "kernels/faults.hpp"

#include <optional>
#include <string>

namespace cufault {

/// Another process on the same GPU with its own context, `cufault neighbour`, that fails on request. Afterwards it stays until this object
/// ends.
class neighbour {
 public:
  /// `which`: what its kernel does; nullopt: it occupies the whole GPU for longest_hang_ms, or until this object ends. Returns when the
  /// process has a context. Throws not_provoked with its message if it has none.
  neighbour(int device, std::optional<device_fault> which);
  /// Makes it fail, and waits for that. Returns the name of the error of its own wait, or hangs. Throws setup_failed if its kernel did not
  /// fail, or does not occupy the GPU.
  std::string fail();
  /// After fail() returned hangs: nullopt while the kernel runs, then its duration in ms from its start, just before fail() returned.
  /// Throws setup_failed if the neighbour has ended.
  std::optional<double> ended_after_ms();
  std::string end() { return process_.end(); }  ///< as of second_process

  static constexpr unsigned longest_hang_ms = 2000;
  static constexpr const char* hangs = "hangs";

  /// Body of the process. Returns its exit code.
  static int serve(int device, std::optional<device_fault> which);

 private:
  bool hangs_;
  second_process process_;
};

/// The fault for an argument of `cufault neighbour --fault`, such as "trap"; nullopt for "hang". Throws std::invalid_argument for others.
std::optional<device_fault> fault_called(const std::string& name);

/// Throws not_provoked unless this process is a client of an MPS server (without `under_mps`: is none), or if neither the runtime nor
/// nvidia-cuda-mps-control tells.
void require_mps(bool under_mps);
/// Notes in the trial that the MPS daemon ended by itself: later results then say nothing about MPS.
void note_end_of_mps_daemon();
/// Makes the keeper of the MPS daemon restart it and its servers (harness/system/mps_keeper.hpp), and waits. Throws not_provoked with the
/// reason if that fails.
void restart_mps();

}  // namespace cufault
