// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// Behind a word at the beginning of a line; without a word, the first. 0 where there is none, as for "max".
std::uint64_t number_in(const fs::path& path, const std::string& word = {}) {
  std::ifstream file(path);
  for (std::string each; !word.empty() && file >> each && each != word;)
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  std::uint64_t number = 0;
  file >> number;
  return number;
}

std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

}  // namespace

std::uint64_t available_host_memory(const fs::path& root) {
  std::uint64_t available = number_in(root / "proc/meminfo", "MemAvailable:") << 10U;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool second = line.starts_with("0::");
    const auto path = line.find(":/");
    if (path == line.npos || (!second && line.find(":memory:") == line.npos)) continue;
    const std::string top = (root / (second ? "sys/fs/cgroup" : "sys/fs/cgroup/memory")).string();
    for (fs::path group = top + line.substr(path + 1); group.string().starts_with(top);
         group = group.parent_path()) {
      const std::uint64_t used = number_in(group / (second ? "memory.current" : "memory.usage_in_bytes")),
                          kept = number_in(group / "memory.stat", "inactive_file");
      if (const auto limit = number_in(group / (second ? "memory.max" : "memory.limit_in_bytes")); limit > 0)
        available = std::min(available, difference(limit, difference(used, kept)));
    }
  }
  return available;
}

}  // namespace cufault
