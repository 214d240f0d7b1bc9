// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Processes that a process starts for itself, by fork or from its own program. run_process() starts those that the runner watches.
namespace cufault {

/// Runs `work` in a forked process, which dies with this one and ends with exit code 0. Throws std::system_error.
pid_t fork_child(const std::function<void()>& work);

/// Goes on in a forked process, so that one is there to end what it starts, and to remove its files, however this one ends, by SIGKILL too:
/// it then gets SIGTERM. There nullopt. Here, when it has ended, its exit code. SIGINT, SIGTERM and SIGHUP are passed on. Throws
/// std::system_error, and std::runtime_error where a signal ended it. In gdb: set follow-fork-mode child.
std::optional<int> go_on_in_child();

/// As exec takes them. The words must outlive it.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts this program again. `descriptors`: descriptors of this process and their numbers in the child. Throws std::system_error.
pid_t start_self(const std::vector<std::string>& words, const std::map<int, int>& descriptors);

/// Waits for a child. Returns its status as waitpid(2) does.
int wait_for(pid_t child);
/// "exit 0", "crashed: SIGSEGV"
std::string ending_of(int status);

}  // namespace cufault
