// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands under the injector: inject, trace, and what others need of them. Null in a build without cuda.h are those that are weak.
#pragma once

#include "harness/system/passed_through.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

struct inject_arguments {
  std::filesystem::path rules, faultinj, log;  ///< rules in cufault's form or in that of NVIDIA's faultinj
  std::filesystem::path replay{};              ///< a log, in place of rules
  std::vector<std::string> fail;               ///< "cuMemAlloc_v2:3=OUT_OF_MEMORY"
  bool lenient = false;                        ///< the command runs although a rule is wrong
  bool shared_gpu = false;                     ///< faulty kernels are started beside other processes, too
  std::optional<std::uint64_t> require;        ///< rules act so often at least; 0: nothing is told at the end
  std::vector<std::string> libraries;          ///< "cublas": to be ready for, beside those that rules name
  std::vector<std::string> command;            ///< never empty
};

/// Becomes the command where nothing is to be told at its end, else returns its exit code.
[[gnu::weak]] int inject(const inject_arguments& arguments);
[[gnu::weak]] std::vector<std::string> injectable_libraries();  ///< what --library takes
/// Each once. Throws usage_error for one that there is not, or whose functions are not known.
std::set<std::string> libraries_asked_for(const std::vector<std::string>& names);
/// Why no program of the command loaded what was preloaded, as far as it can be seen.
std::string why_not_loaded(const std::string& command);
/// LD_PRELOAD of a command under the injector: behind what is preloaded already, a profiler's library, say. `libraries`: whose
/// functions rules are for. Throws usage_error.
std::string preload_with_injector(bool host, const std::vector<std::string>& libraries = {});

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

/// Variables with which libcufault_why.so writes failed calls into the one folder, and counts into the other, which is made.
std::map<std::string, std::string> watch_variables(const std::filesystem::path& watch,
                                                   const std::filesystem::path& counts);
/// Throws usage_error inside of another cufault that counts; `instead`: what to do.
void refuse_if_counted(const char* instead);
inline const std::string passed_exit_codes =
    "Exit codes: the command's; 128 and N where signal N ended it; 2 wrong use; 126 it cannot be executed; "
    "127 it is not found.";

/// LD_PRELOAD of a command with these files of lib/cufault, behind what is preloaded already. Throws usage_error.
std::string preload_with(const std::vector<std::string>& names);

/// Of this process and what it starts. Throws usage_error.
void put(const char* name, const std::string& value);
void preload_injector(bool host, const std::vector<std::string>& libraries);
/// run_passed_through(). Throws usage_error, with the exit code of a shell.
passed_end run_passed(const passed_command& command);
passed_end run_left_alone(const std::vector<std::string>& command);

}  // namespace cufault
