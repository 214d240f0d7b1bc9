// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Writes a program's own samples in the format of Google Benchmark: ci/bench reads --benchmark_out=FILE.
namespace cufault {

/// Requires at least one number.
inline double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  const auto half = of.size() / 2;
  return of.size() % 2 != 0 ? of[half] : (of[half - 1] + of[half]) / 2;
}

/// Adds a benchmark with manual time, with a repetition for each sample, and one for each counter. Without samples adds nothing.
inline void add_samples(const std::string& name, benchmark::TimeUnit unit, std::vector<double> seconds,
                        std::map<std::string, std::vector<double>> counters = {}) {
  if (seconds.empty()) return;
  const int repetitions = static_cast<int>(seconds.size());
  benchmark::RegisterBenchmark(name.c_str(),
                               [samples = std::move(seconds), all = std::move(counters),
                                next = std::size_t{0}](benchmark::State& state) mutable {
                                 const std::size_t repetition = next++ % samples.size();
                                 for (auto _ : state) state.SetIterationTime(samples[repetition]);
                                 for (const auto& [counter, values] : all)
                                   state.counters[counter] = values.at(repetition);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->DisplayAggregatesOnly(true)
      ->Unit(unit);
}

/// Removes the options of Google Benchmark from `words`. Returns false for an unknown one, after an error on stderr. Keeps a pointer to the
/// first word.
inline bool take_benchmark_options(std::vector<std::string>& words) {
  std::vector<char*> its{words[0].data()};
  for (std::string& word : words)
    if (word.starts_with("--benchmark_")) its.push_back(word.data());
  int count = static_cast<int>(its.size());
  benchmark::Initialize(&count, its.data());
  const bool known = !benchmark::ReportUnrecognizedArguments(count, its.data());
  std::erase_if(words, [](const std::string& word) { return word.starts_with("--benchmark_"); });
  return known;
}

/// The main of a program with the option --tiny, which has removed its other options from `argv`. `body(tiny)` adds samples; they are written
/// behind it. Exit code 2, and why on stderr, where it throws or an argument is not known.
template <class Body>
int measured_by(const char* program, int count, char** argv, Body body) try {
  std::vector<std::string> words(argv, argv + count);
  if (!take_benchmark_options(words)) return 2;
  const bool tiny = std::erase(words, "--tiny") > 0;
  if (words.size() > 1) throw std::runtime_error("unknown argument '" + words[1] + "'; known: --tiny");
  body(tiny);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", program, error.what());
  return 2;
}

/// Calls step(0) to step(count - 1) once in each round, in an order drawn at random.
template <class Random, class Step>
void in_rounds(int rounds, std::size_t count, Random& random, Step step) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t which : order) step(which);
  }
}

}  // namespace cufault
