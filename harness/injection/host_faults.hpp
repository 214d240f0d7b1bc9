// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cufault {

/// What libcufault_host.so, named in an arm's `preload` (under_host_injector), does on the host's side of a trial: it stands in front of getenv and
/// of the host's allocation functions. Without the preload what asks it throws not_provoked.
namespace host_faults {

/// A question for an environment variable.
struct look_up {
  std::string
      library;  ///< file name of what asked, as "libcublasLt.so.13"; "(unloaded)" if it no longer is loaded
  std::string variable;  ///< "CUDA_VISIBLE_DEVICES"
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const look_up&, const look_up&) = default;
};
/// Every getenv and secure_getenv since the process started, each pair once, sorted. Also from before main.
std::vector<look_up> environment_look_ups();

/// From now on, in this thread, the n-th host allocation (malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign, strdup) that
/// a library whose file name begins with `library` makes fails with ENOMEM, counted from 1; with `and_all_later` each one after it
/// too. With 0 none fails: they are only counted. "" is any library, and this program, so do it inside of the observed function. An
/// operator new is its malloc: of the library's own where it brings one, as NVIDIA's do, else of libstdc++. Throws setup_failed if no
/// such library is loaded.
void fail_allocation(const std::string& library, unsigned long n, bool and_all_later = false);
/// Ends it; returns how many allocations of that library there were since, failed ones included.
unsigned long allocations_counted();

/// Rules for an arm (under_injector): the driver's look-up of one entry point (cuGetProcAddress) answers as if this driver did not have it:
/// "cuMemAlloc", without its version.
std::string hidden(const std::string& entry);
/// What ends it in a process that comes after.
std::map<std::string, std::string> nothing_hidden();

}  // namespace host_faults
}  // namespace cufault
