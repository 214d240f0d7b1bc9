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

/// Key that arms must have in common to share a process; "" for an arm that shares none.
std::string shared_process_key(const arm& a);

/// A process that runs one trial after another (`cufault trials`), for arms with shares_process. It is reused while its answers report no
/// damage. After a trial that damages or ends it, the next trial gets a new one.
class shared_process {
 public:
  shared_process();
  ~shared_process();
  shared_process(const shared_process&) = delete;
  shared_process& operator=(const shared_process&) = delete;

  /// Runs a trial in the present process if command and key are equal, else in a new one. A process that stays counts as ended with 0.
  /// Throws like run_process() and mps_daemon, and std::system_error if no folder can be made.
  process_result run(const arm& a, const std::vector<std::string>& command, const std::string& request,
                     const std::vector<std::string>& mps_keeper,
                     const std::function<void(std::string_view)>& on_report, int stop);
  /// Called before a trial with its own process. Ends the shared process, unless both may use the GPU together.
  void make_way_for(const arm& a);
  void retire();
  /// Called before an arm that needs the GPU alone. Ends the shared process if it has memory of the GPU. Processes of frameworks have none:
  /// they fork each trial.
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
  std::string key_;  // key and command of the process
  bool forks_ = false;
  counts counts_;
};

}  // namespace cufault
