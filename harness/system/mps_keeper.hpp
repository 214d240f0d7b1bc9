// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace cufault {

/// For a program that keeps an MPS control daemon: starts nvidia-cuda-mps-control with the variables that it has, and answers the first line on its
/// standard input (a channel of both directions) with "started" or with what is wrong. Starts the daemon again only where a client asks for it. Ends the
/// daemon and its servers at the next line, which it answers, and at the end of standard input: by "quit", and by SIGKILL what does not end.
/// Returns the exit code of the program: 2, with a line on standard error, without CUDA_MPS_PIPE_DIRECTORY, CUDA_MPS_LOG_DIRECTORY or the channel.
/// `start_limit`: a start that takes longer has failed. An end takes 14 s at most.
int keep_mps_daemon(std::chrono::seconds start_limit = std::chrono::seconds(10));

// For clients of such a daemon, with its variables.

/// Has the keeper end the daemon and its servers, and start it again. Returns afterwards: "started", or what is wrong; empty where no keeper answers.
std::string restart_kept_mps_daemon();
/// Whether the daemon has ended, and its keeper has not ended it. False where it could not be started again, and where no keeper answers.
bool kept_mps_daemon_has_ended();

}  // namespace cufault
