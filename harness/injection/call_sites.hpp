// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// What the injector's log of a run says of calls. Sweeps of programs and of operations find the calls to fail by it.
namespace cufault::program_sweep {

/// Where a program calls the driver or a library: the same in each run of the same files. `stack` is a hash of the five innermost callers, each by
/// its file (build ID, or else name) and its offset there (harness/injector/call_stack.cpp).
struct call_site {
  std::string library;   ///< file name of the calling library; the program's own name for the program
  std::string offset;    ///< of the call in it: "0x2dea"
  std::string function;  ///< "cuMemAlloc_v2", "cublasSgemm_v2"
  std::string stack;     ///< 16 hexadecimal digits
  bool operator==(const call_site& other) const { return function == other.function && stack == other.stack; }
};

/// How often one run called at a site: the most calls of one process, and in how many processes.
struct site_count {
  std::uint64_t calls = 0, processes = 0;
  bool operator==(const site_count&) const = default;
};
struct counted_site {
  call_site site;
  site_count count;
};

/// What the injector's log tells of one run.
struct run_log {
  std::vector<counted_site> sites;  ///< of logged calls with a call stack, in the order of their first calls
  std::vector<std::size_t> order;   ///< of each of these calls, which of the sites it was made at
  std::uint64_t programs = 0;       ///< that loaded the injector
  std::uint64_t injections = 0;     ///< calls that were made to fail
  std::int64_t device_allocations = 0;  ///< made and not released by the calls that were logged
  std::uint64_t unread = 0;             ///< lines that are no JSON: cut off by the end of their process
};
run_log read_log(const std::filesystem::path& log);  ///< a file that is not there is an empty log
/// Rules under which a run logs each call with its call stack: of the driver, or where `libraries` names some ("cublas"), of these, and then
/// also what allocates and releases device memory, without a call stack.
std::string rules_that_log_all(const std::vector<std::string>& libraries);
/// Only what allocates and releases device memory.
std::string rules_that_log_memory();

/// A site of two clean runs. One that does not have the same count in both cannot be indexed.
struct compared_site {
  call_site site;
  site_count first, second;
  [[nodiscard]] bool is_stable() const { return first == second; }
};
/// Those of the first run, in its order; then those of the second run alone.
std::vector<compared_site> compare(const std::vector<counted_site>& first,
                                   const std::vector<counted_site>& second);

/// What a call of the driver does to the number of allocations of device memory: 1, -1 or 0.
int change_of_allocations(std::string_view function);

}  // namespace cufault::program_sweep
