// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace cufault::injector {

/// What processes counted into the files of a folder (counts.hpp), together.
struct counted {
  int programs = 0;  ///< in which the injector began: a process that becomes another program is two
  int unread = 0;    ///< files that are none of these, or were cut off
  std::map<std::string, std::map<std::string, std::uint64_t>> calls;  ///< by resolving library and function
  std::uint64_t injections = 0;
};
counted counted_in(const std::filesystem::path& folder);

}  // namespace cufault::injector
