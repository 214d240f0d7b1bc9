// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// create_rate: how many new processes per second can create a context and a cuBLAS handle, and how long a further handle takes. Reference
// for the speed of sweeps, which do this for each failed call. Has no bar.
//   processes/N   forked, N at a time, reaped: with the libraries loaded before the fork
//   further       cublasCreate in a process that has a handle; median of 10 in each process
// Nothing is destroyed: processes end at once, and the driver's clean-up is part of the time.
//   create_rate [--tiny] [--benchmark_out=FILE.json] [other options of Google Benchmark]
// --tiny: two repetitions, for a test.
#include "harness/benchmarks/samples.hpp"
#include "harness/system/shared_memory.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace cufault;
using clock_type = std::chrono::steady_clock;

using create_function = decltype(cublasCreate_v2);

create_function* load_cublas() {
  void* library = dlopen(("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR)).c_str(), RTLD_NOW);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<create_function*>(dlsym(library, "cublasCreate_v2"));
}

/// What a forked process leaves for its parent.
struct creation {
  const char* failed = "it did not come so far";
  int code = 0;
  double context = 0, handle = 0;    // milliseconds
  std::array<double, 10> further{};  // milliseconds
};

/// Runs in a forked process. Returns at the first failure.
void create(create_function* create_handle, bool with_further, creation& here) {
  const auto timed = [&](const char* what, double& milliseconds, const auto& call) {
    here.failed = what;
    const auto start = clock_type::now();
    here.code = static_cast<int>(call());
    milliseconds = std::chrono::duration<double, std::milli>(clock_type::now() - start).count();
    if (here.code == 0) here.failed = nullptr;
    return here.code == 0;
  };
  cublasHandle_t handle = nullptr;
  const auto one_handle = [&] { return create_handle(&handle); };
  if (!timed("the context: cudaError", here.context, [] { return cudaFree(nullptr); })) return;
  if (!timed("cublasCreate: status", here.handle, one_handle)) return;
  if (!with_further) return;
  for (double& each : here.further)
    if (!timed("a further cublasCreate: status", each, one_handle)) return;
}

struct job {
  const char* name;
  std::size_t side_by_side, processes;
  bool further = false;
};
constexpr std::array jobs{job{"processes/1", 1, 4}, job{"processes/4", 4, 16}, job{"further", 1, 1, true}};

/// Seconds from the first fork to the end of the last process. Processes write their results to `all`, which is shared.
double run(const job& what, creation* all) {
  // This process only loads the libraries and calls nothing of CUDA.
  static create_function* const loaded = load_cublas();
  if (loaded == nullptr) throw std::runtime_error("no cuBLAS could be loaded");
  const auto start = clock_type::now();
  std::size_t begun = 0, ended = 0;
  while (ended < what.processes) {
    if (begun < what.processes && begun - ended < what.side_by_side) {
      all[begun] = {};
      const pid_t child = fork();
      if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
      if (child == 0) {
        create(loaded, what.further, all[begun]);
        _exit(0);
      }
      ++begun;
    } else {
      while (wait(nullptr) < 0 && errno == EINTR) {
      }
      ++ended;
    }
  }
  const std::chrono::duration<double> taken = clock_type::now() - start;
  for (std::size_t i = 0; i < what.processes; ++i)
    if (all[i].failed != nullptr)
      throw std::runtime_error(fmt::format("{}: {} {}", what.name, all[i].failed, all[i].code));
  return taken.count();
}

struct samples {
  std::vector<double> seconds{};
  std::map<std::string, std::vector<double>> counters{};
};

void measure(samples& into, const job& what, creation* all) {
  const double seconds = run(what, all);
  std::vector<double> handle;
  for (std::size_t i = 0; i < what.processes; ++i) handle.push_back(all[i].handle);
  into.counters["first_handle_ms"].push_back(median(handle));
  if (!what.further)
    into.counters["processes_a_second"].push_back(static_cast<double>(what.processes) / seconds);
  into.seconds.push_back(what.further ? median({all->further.begin(), all->further.end()}) / 1000 : seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return measured_by("create_rate", argc, argv, [](bool tiny) {
    const shared_array<creation> all(16);  // shared with the processes that are timed
    std::array<samples, jobs.size()> seen;
    std::mt19937_64 random(std::random_device{}());
    in_rounds(tiny ? 2 : 7, jobs.size(), random,
              [&](std::size_t which) { measure(seen[which], jobs[which], &all[0]); });
    for (std::size_t i = 0; i < jobs.size(); ++i)
      add_samples(jobs[i].name, benchmark::kMillisecond, seen[i].seconds, seen[i].counters);
  });
}
