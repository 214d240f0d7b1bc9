// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cufault {

/// Services of libcufault_host.so, which an arm preloads by under_host_injector: it interposes getenv and the host's allocation functions.
/// Without the preload these functions throw not_provoked.
namespace host_faults {

/// A look-up of an environment variable.
struct look_up {
  std::string
      library;  ///< file name of what asked, as "libcublasLt.so.13"; "(unloaded)" if it no longer is loaded
  std::string variable;  ///< "CUDA_VISIBLE_DEVICES"
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const look_up&, const look_up&) = default;
};
/// All calls of getenv and secure_getenv since the process started, also before main. Each pair once, sorted.
std::vector<look_up> environment_look_ups();

/// Makes the n-th host allocation (from 1) of a library in this thread fail with ENOMEM; with `and_all_later` each later one too. Counted
/// are malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign and strdup. `library` is the beginning of its file name; "" means
/// any library and this program, so call it inside the observed function. With n = 0 allocations are only counted. An operator new counts
/// as its malloc: the library's own if it has one, as NVIDIA's do, else libstdc++'s. Throws setup_failed if no such library is loaded.
void fail_allocation(const std::string& library, unsigned long n, bool and_all_later = false);
/// Ends this; returns the number of allocations of that library meanwhile, failed ones included.
unsigned long allocations_counted();

/// Rules for an arm (under_injector) that hide an entry point of the driver from cuGetProcAddress. `entry`: "cuMemAlloc", without version.
std::string hidden(const std::string& entry);
/// Variables that lift the rules in a later process.
std::map<std::string, std::string> nothing_hidden();

}  // namespace host_faults
}  // namespace cufault
