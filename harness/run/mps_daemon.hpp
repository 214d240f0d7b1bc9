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

/// An MPS control daemon of this run, in its own folder. Only processes with its variables are its clients. The daemon and its servers end
/// with this object or process: by "quit", else by SIGKILL.
class mps_daemon {
 public:
  /// `keeper`: a program that runs keep_mps_daemon() (harness/system/mps_keeper.hpp). `environment`: variables of the clients, such as
  /// CUDA_VISIBLE_DEVICES. `stop`: as in run_process(). Throws not_provoked with the daemon's output if it cannot be started, and
  /// interrupted.
  mps_daemon(const std::vector<std::string>& keeper, const std::map<std::string, std::string>& environment,
             int stop);
  ~mps_daemon();
  mps_daemon(const mps_daemon&) = delete;
  mps_daemon& operator=(const mps_daemon&) = delete;
  /// CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY for the clients.
  [[nodiscard]] std::map<std::string, std::string> variables() const;

 private:
  scratch_folder folder_;
  std::unique_ptr<resident_process> keeper_;
};

}  // namespace cufault
