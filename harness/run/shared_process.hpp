// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "harness/run/mps_daemon.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/system/process.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What the trials of an arm that share a process must have in common; empty for an arm that shares none.
std::string shared_process_key(const arm& a);

/// A process that runs one trial after another (`cufault trials`), for arms that say so (arm::shares_process). It stays only while it
/// answers that nothing was damaged; a trial that damages it, or ends it, is its last one, and the next trial gets a new one.
class shared_process {
 public:
  shared_process();
  ~shared_process();
  shared_process(const shared_process&) = delete;
  shared_process& operator=(const shared_process&) = delete;

  /// Runs a trial of the arm, in the process that there is if that was started by the same command and has the same key, else in a new
  /// one. A process that stays counts as ended with 0. Throws as run_process() and mps_daemon, and std::system_error where no folder can be made.
  process_result run(const arm& a, const std::vector<std::string>& command, const std::string& request,
                     const std::vector<std::string>& mps_keeper,
                     const std::function<void(std::string_view)>& on_report, int stop);
  /// Before a trial with a process of its own: ends the one that there is, unless both use the GPU and may.
  void make_way_for(const arm& a);
  void retire();
  /// Before an arm that has the GPU to itself: ends the process that there is, unless it has no memory of the GPU. Those of frameworks
  /// have none: each trial is forked from them.
  void leave_gpu();

  struct counts {
    std::size_t trials = 0, processes = 0;
    std::vector<std::string> damaged;  ///< what was found, each time something was: "types.int8/refused: ..."
  };
  counts take_counts();  ///< since this was asked last

 private:
  std::unique_ptr<scratch_folder> scratch_;
  std::unique_ptr<mps_daemon> mps_;
  std::unique_ptr<resident_process> process_;
  std::string key_;  // of the process, with its command
  bool forks_ = false;
  counts counts_;
};

}  // namespace cufault
