// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// Calls of these tell how much memory was asked for.
inline const std::vector<std::string> allocating_functions{"cuMem*Alloc*", "cuMemCreate"};

/// Variables with which libcufault.so and libcufault_host.so write a log of the calls of these functions, and counts of all into a folder.
std::map<std::string, std::string> trace_variables(const std::filesystem::path& log,
                                                   const std::filesystem::path& counts,
                                                   const std::vector<std::string>& logged);
/// What they wrote, to standard error. `asked`: libraries whose calls are told, too. `signal`: that ended the command; 0: none. `libraries`:
/// those that called the driver or asked for variables are added. `json`: where to write it, too; empty: nowhere. Throws std::system_error.
void print_trace(const std::filesystem::path& log, const std::filesystem::path& counts,
                 const std::set<std::string>& asked, int signal, std::set<std::string>* libraries = nullptr,
                 const std::filesystem::path& json = {});

/// LD_PRELOAD of a command with these files of lib/cufault, behind what is preloaded already. Throws usage_error.
std::string preload_with(const std::vector<std::string>& names);

}  // namespace cufault
