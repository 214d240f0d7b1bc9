// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, by one old report, where the driver's cache of compiled code cannot be read.
// Why          What the driver compiles from PTX it keeps in ~/.nv/ComputeCache, or in CUDA_CACHE_PATH. A
//              program that once ran as another user, or a home folder that is not there, leaves a place that
//              cannot be used.
// Documented   CUDA Programming Guide, CUDA Environment Variables; cutorch#677: NOT_INITIALIZED, from
//              cublasCreate.
// Measured     Nothing fails, neither code that the driver has to compile nor cuBLAS, so that the remedy has
//              nothing to clear. That the driver does use CUDA_CACHE_PATH the control shows: files appear in it.
// What helps   Recommended: remove the cache, or own it.
#include "cases/environment/other_code.hpp"
#include "harness/kit/products.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;

/// Runs from the first CUDA call on. The library contains only PTX, so the driver has to compile it.
void work(trial& t, const fs::path& cache) {
  setenv("CUDA_CACHE_PATH", cache.c_str(), 1);
  const code_library ptx_only(code_as_ptx);
  CUFAULT_OBSERVE(cudaSetDevice(t.device()));
  create_and_multiply();
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "ptx_only", ptx_only.run());
}

fs::path own_place(trial& t) {
  fs::path folder = t.scratch() / "own_cache";
  fs::create_directory(folder);
  return folder;
}

/// A path below a file, unusable even for root.
fs::path below_a_file(trial& t) {
  const fs::path file = t.scratch() / "file";
  std::ofstream{file} << "no folder\n";
  return file / "cache";
}

// ---- controls ----

void control(trial& t) {
  work(t, own_place(t));
  const auto kept = std::distance(fs::recursive_directory_iterator(own_place(t)), {});
  t.measure("files and folders in the cache", static_cast<double>(kept));
}

// ---- faults ----

void mode_0(trial& t) {
  if (geteuid() == 0) throw not_provoked("root reads a folder of mode 0; not_a_folder does it to root too");
  const fs::path cache = t.scratch() / "closed";
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms::none);
  work(t, cache);
}

void not_a_folder(trial& t) {
  work(t, below_a_file(t));
}

void read_only(trial& t) {
  work(t, "/proc");
}

// ---- remedies ----

void place_of_its_own(trial& t) {
  if (t.stage() == 0) {
    work(t, below_a_file(t));
    t.apply("start again with a cache that can be written");
    t.continue_in_new_process();
    return;
  }
  work(t, own_place(t));
}

// ---- the case ----

void cache_unreadable(failure_case& c) {
  c.control("the cache is in a folder of its own", control);

  c.fault("mode_0", "a folder that nobody may read", mode_0);
  c.fault("not_a_folder", "a path below a file", not_a_folder);
  c.fault("read_only", "a folder in which nothing can be made", read_only);

  c.remedy("place_of_its_own", "start again with a cache that can be written", place_of_its_own);
  for (arm& a : c.arms) a.environment["CUDA_CACHE_DISABLE"] = "";
  c.in_tier = {"control", "not_a_folder"};
}

const register_case here("environment.cache_unreadable",
                         "the driver's cache of compiled code is in a place that cannot be used",
                         {"F-ENV-10"}, cache_unreadable);

}  // namespace
}  // namespace cufault
