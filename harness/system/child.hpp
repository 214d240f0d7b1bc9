// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

/// Processes that a process starts for itself: forked, or started again from its own program. Those that the runner watches are
/// run_process()'s.
namespace cufault {

/// Runs `work` in a process forked from this one, which dies with it, and ends there with exit code 0. Throws std::system_error.
pid_t fork_child(const std::function<void()>& work);

/// Starts this program again. `descriptors`: those of this process that it has, by the numbers that it has them under. Throws
/// std::system_error.
pid_t start_self(const std::vector<std::string>& words, const std::map<int, int>& descriptors);

/// Waits for a child. Its status, as waitpid(2) gives it.
int wait_for(pid_t child);
/// "exit 0", "crashed: SIGSEGV"
std::string ending_of(int status);

}  // namespace cufault
