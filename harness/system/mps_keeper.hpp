// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace cufault {

/// Keeps an MPS control daemon. Starts nvidia-cuda-mps-control with this process's variables, and answers the first line on standard input
/// (a bidirectional channel) with "started" or an error. Restarts the daemon only at a client's request. At the next line, which it
/// answers, or at the end of input, it ends daemon and servers by "quit", else by SIGKILL. Returns the exit code of the program: 2, with a
/// message, without CUDA_MPS_PIPE_DIRECTORY, CUDA_MPS_LOG_DIRECTORY or the channel. `start_limit`: a longer start has failed. Ending takes
/// 14 s at most.
int keep_mps_daemon(std::chrono::seconds start_limit = std::chrono::seconds(10));

// For clients of such a daemon, with its variables.

/// Asks the keeper to restart the daemon and its servers, and waits. Returns "started" or an error; "" if no keeper answers.
std::string restart_kept_mps_daemon();
/// True if the daemon ended without its keeper's action. False if it could not be restarted, or if no keeper answers.
bool kept_mps_daemon_has_ended();

}  // namespace cufault
