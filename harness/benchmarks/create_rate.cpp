// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// create_rate: how many fresh processes a second can each create a context and a cuBLAS handle on this machine, and how long a further
// handle takes. No bar: it is what a sweep, which does that for each call it fails, is compared with.
//   processes/N   forked, N at a time, reaped: with the libraries loaded before the fork
//   further       cublasCreate in a process that has a handle; median of 10 in each process
// Nothing is destroyed: the processes end at once, and the driver clears up within the time measured.
//   create_rate [--tiny] [--benchmark_out=FILE.json] [other options of Google Benchmark]
// --tiny: each twice, for a test.
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
#include <cstdio>
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
  std::array<double, 10> further{};  // likewise
};

/// In a forked process. Returns as soon as something fails.
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

/// Seconds from the first fork to the last process that is gone; what they saw goes to `all`, which they share with this process.
double run(const job& what, creation* all) {
  // Nothing of CUDA runs in this process: loading is all.
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

void measure(benchmark::State& state, const job& what, creation* all) {
  for (auto _ : state) {
    const double seconds = run(what, all);
    std::vector<double> handle;
    for (std::size_t i = 0; i < what.processes; ++i) handle.push_back(all[i].handle);
    state.counters["first_handle_ms"] = median(handle);
    if (!what.further) state.counters["processes_a_second"] = static_cast<double>(what.processes) / seconds;
    state.SetIterationTime(what.further ? median({all->further.begin(), all->further.end()}) / 1000
                                        : seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> words(argv, argv + argc);
  const bool tiny = std::erase_if(words, [](const char* word) { return std::string(word) == "--tiny"; }) > 0;
  words.insert(words.begin() + 1, interleave.data());
  int count = static_cast<int>(words.size());
  benchmark::Initialize(&count, words.data());
  if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;
  try {
    constexpr std::size_t most = 16;
    const shared_array<creation> all(most);  // shared with the processes that are timed

    for (const job& what : jobs)
      benchmark::RegisterBenchmark(what.name, [&](benchmark::State& state) { measure(state, what, &all[0]); })
          ->UseManualTime()
          ->Iterations(1)
          ->Repetitions(tiny ? 2 : 7)
          ->DisplayAggregatesOnly(true)
          ->Unit(benchmark::kMillisecond);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "create_rate: {}\n", error.what());
    return 2;
  }
}
