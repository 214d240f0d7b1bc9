// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/second_process.hpp"
#include "kernels/faults.hpp"

#include <optional>
#include <string>

namespace cufault {

/// Another process on the same GPU, with a context of its own, that fails when it is told to: `cufault neighbour`. It stays, with what has failed, until this
/// object ends.
class neighbour {
 public:
  /// What its kernel does; nothing: it occupies the whole GPU for longest_hang_ms, or until this object ends. Returns when it has a context.
  /// Throws not_provoked, with what it says, where it has none.
  neighbour(int device, std::optional<device_fault> which);
  /// Tells it to fail, and returns when it has: the name of the error that its own wait returned, or hangs. Throws setup_failed where its kernel did not fail, or
  /// does not occupy the GPU.
  std::string fail();
  /// After fail() that returned hangs: nothing while the kernel runs, then how long it ran from its start, which is at most a moment before
  /// fail() returned. Throws setup_failed where the neighbour has ended.
  std::optional<double> ended_after_ms();
  std::string end() { return process_.end(); }  ///< as of second_process

  static constexpr unsigned longest_hang_ms = 2000;
  static constexpr const char* hangs = "hangs";

  /// What the process does. Its exit code.
  static int serve(int device, std::optional<device_fault> which);

 private:
  bool hangs_;
  second_process process_;
};

/// The device_fault of a name, as `cufault neighbour --fault` takes it: "trap", "illegal_address"; nothing for "hang". Throws std::invalid_argument for others.
std::optional<device_fault> fault_called(const std::string& name);

/// Throws not_provoked unless this process is (or, without `under_mps`, is no) client of an MPS server, and where neither the runtime nor
/// nvidia-cuda-mps-control says so.
void require_mps(bool under_mps);
/// Notes in the trial where the MPS daemon has ended, and nobody was told to end it: what follows then says nothing of MPS.
void note_end_of_mps_daemon();
/// Has the keeper of the MPS daemon end it and its servers, and start it again (harness/system/mps_keeper.hpp); returns when the new one runs. Throws
/// not_provoked where it does not, with what is wrong.
void restart_mps();

}  // namespace cufault
