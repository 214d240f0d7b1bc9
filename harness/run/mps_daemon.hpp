// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/run/scratch_folder.hpp"
#include "harness/system/process.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

/// An MPS control daemon of this run's own, in a folder of its own: only processes with its variables are its clients. Where its end or that of this
/// process comes, the daemon and its servers end, too: by "quit", and by SIGKILL what does not.
class mps_daemon {
 public:
  /// `keeper`: a program that runs keep_mps_daemon() (harness/system/mps_keeper.hpp). `environment`: of the clients, CUDA_VISIBLE_DEVICES among it. `stop`: as of
  /// run_process(). Throws not_provoked, with what the daemon printed, where it cannot be started, and interrupted.
  mps_daemon(const std::vector<std::string>& keeper, const std::map<std::string, std::string>& environment,
             int stop);
  ~mps_daemon();
  mps_daemon(const mps_daemon&) = delete;
  mps_daemon& operator=(const mps_daemon&) = delete;
  /// CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY, as clients need them.
  [[nodiscard]] std::map<std::string, std::string> variables() const;

 private:
  scratch_folder folder_;
  std::unique_ptr<resident_process> keeper_;
};

}  // namespace cufault
