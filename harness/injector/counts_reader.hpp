// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cufault::injector {

/// Sum of the counts of all processes that wrote files (counts.hpp) to a folder.
struct counted {
  int programs = 0;  ///< in which the injector began: a process that becomes another program is two
  int unread = 0;    ///< files that are none of these, or were cut off
  std::map<std::string, std::map<std::string, std::uint64_t>> calls;  ///< by resolving library and function
  std::vector<std::map<std::string, std::uint64_t>> by_program{};     ///< by function
  std::uint64_t injections = 0;
  std::vector<std::uint64_t> acted{};  ///< of them by the number of the rule
  bool preload_removed = false;        ///< by a process, from the environment of what it starts
};
counted counted_in(const std::filesystem::path& folder);

/// A thread of a process whose calls are watched (CUFAULT_WATCH).
struct watched_thread {
  std::uint32_t pid = 0, thread = 0;
  bool is_there = false;              ///< its process, as the same program
  std::uint32_t begun = 0;            ///< calls so far
  std::vector<std::string> waits_in;  ///< calls in flight, the outermost first: "cuStreamSynchronize"
  std::vector<std::string> last;      ///< calls that began last, the latest last; 8 at most
};
/// Reads the watched threads. Without `names`, which take longer, all names are empty and `is_there` is false.
std::vector<watched_thread> threads_in(const std::filesystem::path& folder, bool names);

}  // namespace cufault::injector
