// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "harness/run/mps_daemon.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/system/process.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Variables that the process of an arm must start with. Those that CUDA, cuBLAS and compilers read when they begin are not among them in a framework:
/// its interpreter has not used CUDA, so that a trial can set them (framework_trials/server.py).
std::map<std::string, std::string> variables_at_start(const arm& a);

/// Key that arms must have in common to share a process; "" for an arm that shares none.
std::string shared_process_key(const arm& a);

/// Processes that run one trial after another (`cufault trials`), for arms with shares_process. One is reused while its answers report no
/// damage. After a trial that damages or ends it, the next trial gets a new one. Up to `most` interpreters, which fork each trial and have no
/// memory of the GPU, are kept, one per key and command; and at most one other process.
class shared_process {
 public:
  /// One interpreter more ends the one that was used longest ago.
  explicit shared_process(std::size_t most = most_interpreters());
  ~shared_process();
  shared_process(const shared_process&) = delete;
  shared_process& operator=(const shared_process&) = delete;

  /// Runs a trial in the present process if command and key are equal, else in a new one. A process that stays counts as ended with 0.
  /// Throws like run_process() and mps_daemon, and std::system_error if no folder can be made.
  process_result run(const arm& a, const std::vector<std::string>& command, const std::string& request,
                     const std::vector<std::string>& mps_keeper,
                     const std::function<void(std::string_view)>& on_report, int stop);
  /// Called before a trial with its own process. Ends what has memory of the GPU, unless both may use the GPU together.
  void make_way_for(const arm& a);
  void retire();  ///< ends all
  /// Called before an arm that needs the GPU alone. Ends what has memory of the GPU.
  void leave_gpu();

  struct counts {
    std::size_t trials = 0, processes = 0;
    std::vector<std::string> damaged;  ///< what was found, each time something was: "types.int8/refused: ..."
  };
  counts take_counts();  ///< since this was asked last

 private:
  struct kept {
    std::string key;  // key and command of the process
    std::unique_ptr<scratch_folder> scratch{};
    std::unique_ptr<mps_daemon> mps{};
    std::unique_ptr<resident_process> process{};  // or
    std::unique_ptr<forking_process> forks{};     // of a framework
  };
  static std::size_t most_interpreters();
  std::size_t most_;
  std::list<kept> kept_;  // the one that was used last is the last
  counts counts_;
};

}  // namespace cufault
