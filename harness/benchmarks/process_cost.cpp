// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What libcufault.so without a rule adds to a process apart from driver calls: an allocation, a getenv, a fork beside 256 threads that
// called the driver. Also the cost of cufault_set_rules, and of a library call under rules for the library, on the tests' stand-in for
// cuBLAS, which does nothing. Needs no GPU. Bare processes run twice in each round: their difference is the noise. Rounds are shuffled; all
// processes are pinned to one core.
//   process_cost [--tiny] [--benchmark_out=FILE.json] [other options of Google Benchmark]
// --tiny: one round of short slices, for a test; the figures mean nothing.
#include "harness/benchmarks/samples.hpp"
#include "harness/injector/tests/programs/blas_user.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

namespace {

struct figure {
  const char* name;
  benchmark::TimeUnit unit;
  double in_a_second;  // units
};
constexpr std::array measures{figure{"malloc_free", benchmark::kNanosecond, 1e9},
                              figure{"getenv", benchmark::kNanosecond, 1e9},
                              figure{"fork", benchmark::kMicrosecond, 1e6},
                              figure{"library_linked", benchmark::kNanosecond, 1e9},
                              figure{"library_second_file", benchmark::kNanosecond, 1e9},
                              figure{"library_dlsym", benchmark::kNanosecond, 1e9},
                              figure{"set_rules", benchmark::kMicrosecond, 1e6},
                              figure{"set_rules_glob", benchmark::kMicrosecond, 1e6}};
struct setting {
  const char* name;
  std::vector<const char*> preload{};
  const char* rules = "";
};
const std::array<setting, 6> arms{
    {{"bare"},
     {"bare_again"},
     {"injector", {"libcufault.so"}},
     {"host", {"libcufault.so", "libcufault_host.so"}},
     {"library_rule_elsewhere",
      {"libcufault_cublas.so", "libcufault.so"},
      R"({"rules": [{"function": "cublasGemmEx", "return": "EXECUTION_FAILED"}]})"},
     {"library_rule_not_met",
      {"libcufault_cublas.so", "libcufault.so"},
      R"({"rules": [{"function": "cublas*", "thread": 1000000, "return": "EXECUTION_FAILED"}]})"}}};
using figures = std::array<double, measures.size()>;

int slices = 11;

/// Nanoseconds of one repetition; the least of all slices.
template <class Work>
double nanoseconds(int count, Work work) {
  double least = 1e300;
  for (int slice = 0; slice < slices; ++slice) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / count);
  }
  return least;
}

double fork_microseconds() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) throw std::runtime_error(dlerror());
  auto* version = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  constexpr int threads = 256;
  std::barrier together(threads + 1);
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      int number = 0;
      version(&number);
      together.arrive_and_wait();
      together.arrive_and_wait();
    });
  together.arrive_and_wait();
  const double each = nanoseconds(20, [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  });
  together.arrive_and_wait();
  return each / 1e3;
}

double cpu_microseconds() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e6 + static_cast<double>(spent.tv_nsec) / 1e3;
}

/// Microseconds of one call, averaged over 10,000: a test suite sets rules that often. CPU time, so that other programs do not count.
double set_rules_microseconds(const char* rules, bool tiny) {
  auto* set = reinterpret_cast<decltype(cufault_set_rules)*>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  if (set == nullptr) return 0;
  const int count = tiny ? 100 : 10'000;
  const double begin = cpu_microseconds();
  for (int i = 0; i < count; ++i)
    if (set(rules) != 0) std::abort();
  return (cpu_microseconds() - begin) / count;
}

template <class Function>
Function* found(void* library, const char* name) {
  void* at = library != nullptr ? dlsym(library, name) : nullptr;
  if (at == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function*>(at);
}

struct library_call {
  double linked, from_second_file, looked_up;
};
library_call library_nanoseconds() {
  constexpr int calls = 1'000'000;
  int version = 0;
  float c = 0;
  void* user = dlopen(CUFAULT_BLAS_USER, RTLD_NOW | RTLD_LOCAL);
  found<int(float*)>(user, "user_multiplies")(&c);  // the first file to call it
  auto* looked_up =
      found<decltype(cublasGetVersion_v2)>(dlopen(CUFAULT_BLAS, RTLD_NOW), "cublasGetVersion_v2");
  return {
      nanoseconds(calls, [&] { cublasGetVersion_v2(nullptr, &version); }),
      nanoseconds(
          calls,
          [&] { cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, &c, 1); }),
      nanoseconds(calls, [&] { looked_up(nullptr, &version); })};
}

int measure(bool tiny) try {
  if (tiny) slices = 1;
  const library_call library = library_nanoseconds();
  const double allocation = nanoseconds(1'000'000, [] {
    void* volatile memory = std::malloc(64);
    std::free(memory);
  });
  const double question = nanoseconds(200'000, [] { static_cast<void>(std::getenv("ASKED_AND_NOT_SET")); });
  fmt::print(
      "{} {} {} {} {} {} {} {}\n", allocation, question, fork_microseconds(), library.linked,
      library.from_second_file, library.looked_up,
      set_rules_microseconds(R"({"rules": [{"function": "cuMemAlloc_v2", "return": "OUT_OF_MEMORY"}]})",
                             tiny),
      set_rules_microseconds(R"({"rules": [{"function": "cuMem*", "return": "OUT_OF_MEMORY"}]})", tiny));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "process_cost: {}\n", error.what());
  return 2;
}

figures measured(const setting& of, bool tiny) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto libraries = self.parent_path().parent_path() / "lib/cufault";
  std::string preload;
  for (const char* name : of.preload) preload += (preload.empty() ? "" : ":") + (libraries / name).string();
  const std::string command =
      fmt::format("LD_LIBRARY_PATH='{}' LD_PRELOAD='{}' CUFAULT_RULES='{}' '{}' --measure{}",
                  CUFAULT_STAND_IN_DRIVER, preload, of.rules, self.string(), tiny ? " --tiny" : "");
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("popen failed");
  figures found{};
  int read = 0;
  for (double& each : found) read += std::fscanf(output, "%lf", &each);
  if (pclose(output) != 0 || read != static_cast<int>(found.size()))
    throw std::runtime_error("failed: " + command);
  return found;
}

}  // namespace

int main(int count, char** argv) {
  if (count > 1 && argv[1] == std::string("--measure")) return measure(count > 2);  // behind it: --tiny
  return cufault::measured_by("process_cost", count, argv, [](bool tiny) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);

    std::array<std::vector<figures>, arms.size()> seen;
    std::mt19937 random(1);
    cufault::in_rounds(tiny ? 1 : 20, arms.size(), random,
                       [&](std::size_t arm) { seen[arm].push_back(measured(arms[arm], tiny)); });
    for (std::size_t m = 0; m < measures.size(); ++m)
      for (std::size_t arm = 0; arm < arms.size(); ++arm) {
        std::vector<double> seconds;
        for (const figures& round : seen[arm]) seconds.push_back(round[m] / measures[m].in_a_second);
        cufault::add_samples(fmt::format("{}/{}", measures[m].name, arms[arm].name), measures[m].unit,
                             seconds);
      }
  });
}
