// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reads from the injector's log of a run which calls were made. Sweeps of programs and operations plan by it.
namespace cufault::program_sweep {

/// A place in a program that calls the driver or a library, equal in all runs of the same files. `stack` is a hash of the five innermost
/// callers: the file of each (build ID, else name) and its offset there (harness/injector/call_stack.cpp).
struct call_site {
  std::string library;   ///< file name of the calling library; the program's own name for the program
  std::string offset;    ///< of the call in it: "0x2dea"
  std::string function;  ///< "cuMemAlloc_v2", "cublasSgemm_v2"
  std::string stack;     ///< 16 hexadecimal digits
  bool operator==(const call_site& other) const { return function == other.function && stack == other.stack; }
};

/// Calls of one run at a site: the most calls of one process, and the number of processes.
struct site_count {
  std::uint64_t calls = 0, processes = 0;
  bool operator==(const site_count&) const = default;
};
struct counted_site {
  call_site site;
  site_count count;
};

struct logged_frame {
  std::string file, offset, symbol;  ///< symbol: mangled; empty where the file exports none
};

/// What the injector's log tells of one run.
struct run_log {
  std::vector<counted_site> sites;  ///< of logged calls with a call stack, in the order of their first calls
  std::vector<std::size_t> order;   ///< of each of these calls, which of the sites it was made at
  std::uint64_t programs = 0;       ///< that loaded the injector
  std::uint64_t injections = 0;     ///< calls that were made to fail
  bool preload_removed = false;     ///< by a process, from the environment of what it starts
  std::int64_t device_allocations = 0;  ///< made and not released by the calls that were logged
  std::uint64_t unread = 0;             ///< lines that are no JSON: cut off by the end of their process
  std::vector<counted_site>
      after;  ///< of logged calls after the first failed one in its process: each site, and which of its calls came first
  std::map<std::string, std::uint64_t> called;  ///< functions, of processes that ended by themselves
  std::vector<logged_frame> frames;             ///< of the first failed call, the innermost first
  std::string python;                           ///< likewise, as a traceback
};
run_log read_log(const std::filesystem::path& log);  ///< a file that is not there is an empty log
/// Rules that make a run log each driver call with its call stack. If `libraries` names some ("cublas"), the run logs calls of these
/// libraries instead, and allocations and releases of device memory without a call stack.
std::string rules_that_log_all(const std::vector<std::string>& libraries);
/// The same for allocations and releases of device memory alone.
std::string rules_that_log_memory();

/// A site in two clean runs. Its calls can be numbered only if both counts are equal.
struct compared_site {
  call_site site;
  site_count first, second;
  [[nodiscard]] bool is_stable() const { return first == second; }
};
/// Sites of the first run in its order, then sites of the second run alone.
std::vector<compared_site> compare(const std::vector<counted_site>& first,
                                   const std::vector<counted_site>& second);

/// Change of the number of device allocations by a driver call: 1, -1 or 0.
int change_of_allocations(std::string_view function);

}  // namespace cufault::program_sweep
