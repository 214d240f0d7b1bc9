// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <system_error>

namespace cufault {

/// Children of this process, living or zombies, as the kernel lists them by thread. Nullopt if the kernel lacks CONFIG_PROC_CHILDREN.
/// Complete if nobody else reaps our children meanwhile.
inline std::optional<std::set<pid_t>> children_from_tasks() {
  std::set<pid_t> found;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(task.path() / "children");
    if (!list) {
      // A thread that ended has passed its children to another thread: look again.
      if (std::filesystem::exists("/proc/self/task/" + std::to_string(getpid()) + "/children")) {
        return children_from_tasks();
      }
      return std::nullopt;
    }
    for (pid_t pid = 0; list >> pid;) found.insert(pid);
  }
  if (error) return std::nullopt;
  return found;
}

/// The same from the parent of every process. Throws std::filesystem::filesystem_error if /proc is not mounted.
inline std::set<pid_t> children_from_stat() {
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat, '\0');
    // "PID (COMMAND) STATE PPID ...": only COMMAND may hold spaces, parentheses and newlines.
    const auto end = stat.rfind(')');
    if (end == std::string::npos || end + 4 >= stat.size()) continue;  // the process has ended
    if (std::atoi(stat.c_str() + end + 4) == getpid()) found.insert(std::atoi(name.c_str()));
  }
  return found;
}

inline std::set<pid_t> children_of_this_process() {
  auto listed = children_from_tasks();
  return listed ? *std::move(listed) : children_from_stat();
}

}  // namespace cufault
