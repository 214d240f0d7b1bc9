// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What libcufault.so, without a rule, costs a process beside its driver calls: an allocation, a getenv, a fork beside 64 threads that called
// the driver; and what cufault_set_rules costs. Needs no GPU. Bare processes are measured twice in each round, so that the difference of two
// alike is there to compare with; rounds are shuffled, all processes are pinned to one core.
//   usage: process_cost [ROUNDS]
#include <fmt/format.h>

#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

namespace {

constexpr std::array measures{"malloc and free [ns]", "getenv [ns]", "fork beside 64 threads [us]",
                              "cufault_set_rules, one rule [us]", "the same, a glob [us]"};
constexpr std::array arms{"bare", "bare again", "libcufault.so", "and libcufault_host.so"};
using figures = std::array<double, measures.size()>;

/// Nanoseconds of one; the least of eleven slices.
template <class Work>
double nanoseconds(int count, Work work) {
  double least = 1e300;
  for (int slice = 0; slice < 11; ++slice) {
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
  constexpr int threads = 64;
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

double set_rules_microseconds(const char* rules) {
  auto* set = reinterpret_cast<decltype(cufault_set_rules)*>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  if (set == nullptr) return 0;
  return nanoseconds(1000,
                     [&] {
                       if (set(rules) != 0) std::abort();
                     }) /
         1e3;
}

int measure() {
  const double allocation = nanoseconds(1'000'000, [] {
    void* volatile memory = std::malloc(64);
    std::free(memory);
  });
  const double question = nanoseconds(200'000, [] { static_cast<void>(std::getenv("ASKED_AND_NOT_SET")); });
  fmt::print(
      "{} {} {} {} {}\n", allocation, question, fork_microseconds(),
      set_rules_microseconds(R"({"rules": [{"function": "cuMemAlloc_v2", "return": "OUT_OF_MEMORY"}]})"),
      set_rules_microseconds(R"({"rules": [{"function": "cuMem*", "return": "OUT_OF_MEMORY"}]})"));
  return 0;
}

figures measured(std::size_t arm) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto libraries = self.parent_path().parent_path() / "lib/cufault";
  std::string preload;
  if (arm >= 2) preload = (libraries / "libcufault.so").string();
  if (arm == 3) preload += ":" + (libraries / "libcufault_host.so").string();
  const std::string command = fmt::format("LD_LIBRARY_PATH='{}' LD_PRELOAD='{}' '{}' --measure",
                                          CUFAULT_STAND_IN_DRIVER, preload, self.string());
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("popen failed");
  figures found{};
  int read = 0;
  for (double& each : found) read += std::fscanf(output, "%lf", &each);
  if (pclose(output) != 0 || read != static_cast<int>(found.size()))
    throw std::runtime_error("failed: " + command);
  return found;
}

/// Median and quartiles.
std::string interval(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return fmt::format("{:+9.2f} ({:+.2f} to {:+.2f})", of[of.size() / 2], of[of.size() / 4],
                     of[of.size() * 3 / 4]);
}

}  // namespace

int main(int count, char** words) try {
  if (count > 1 && std::strcmp(words[1], "--measure") == 0) return measure();
  const int rounds = count > 1 ? std::max(4, std::atoi(words[1])) : 20;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);

  std::array<std::vector<figures>, arms.size()> seen;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::array<std::size_t, arms.size()> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t arm : order) seen[arm].push_back(measured(arm));
  }
  fmt::print("{} rounds; median, and the quartiles of the rounds\n", rounds);
  for (std::size_t m = 0; m < measures.size(); ++m) {
    fmt::print("{}\n", measures[m]);
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      std::vector<double> values, differences;
      for (std::size_t round = 0; round < seen[arm].size(); ++round) {
        values.push_back(seen[arm][round][m]);
        differences.push_back(seen[arm][round][m] - seen[0][round][m]);
      }
      fmt::print("  {:<24}{}{}\n", arms[arm], interval(values),
                 arm == 0 ? "" : "   against bare " + interval(differences));
    }
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "process_cost: {}\n", error.what());
  return 1;
}
