// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cufault {

/// For a program that keeps an MPS control daemon: starts nvidia-cuda-mps-control with the variables that it has, answers the first line on its
/// standard input (a channel of both directions) with "started" or with what is wrong, and starts the daemon again where somebody else has ended it. Ends the
/// daemon and its servers at the next line, which it answers, and at the end of standard input: by "quit", and by SIGKILL what does not end.
/// Returns the exit code of the program: 2, with a line on standard error, without CUDA_MPS_PIPE_DIRECTORY, CUDA_MPS_LOG_DIRECTORY or the channel.
int keep_mps_daemon();

}  // namespace cufault
