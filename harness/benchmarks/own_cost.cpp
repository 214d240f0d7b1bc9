// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// own_cost: what a trial and a squeeze cost on this machine, against their bars. Exits 1 above a bar.
//   trial    at most 1.15 times a bare process that makes the same calls; medians of 20, interleaved at
//   random squeeze  all device memory but 2 MiB held in under 50 ms; median of 20, each in a fresh process
#include "harness/kit/memory_pressure.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/process.hpp"

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace {

using namespace cufault;
namespace fs = std::filesystem;

fs::path beside() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

double run_once(const std::vector<std::string>& argv, std::string* said = nullptr) {
  spawn_options options;
  options.argv = argv;
  options.environment = {{"CUDA_MODULE_LOADING", "LAZY"}, {"CUBLAS_WORKSPACE_CONFIG", ""}};
  const process_result ended = run_process(options, [](std::string_view) {});
  if (ended.how != ending::exited || ended.exit_code != 0)
    throw std::runtime_error(argv[0] + " failed: " + ended.stderr_text);
  if (said != nullptr) *said = ended.stdout_text;
  return ended.milliseconds;
}

void one_bare_process(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(run_once({beside() / "bare_create"}) / 1000);
}

/// As `cufault run` makes it, with the look at the device's memory before and after.
void one_trial(benchmark::State& state) {
  static const nvml management;
  static const std::string uuid =
      read_stack(beside() / "cufault", {}, management)["gpu"].value("uuid", std::string());
  failure_case c;
  c.name = "memory.create_under_pressure";
  arm a;
  a.name = "control_lazy";
  a.environment = {{"CUDA_MODULE_LOADING", "LAZY"}, {"CUBLAS_WORKSPACE_CONFIG", ""}};
  runner_options options;
  options.in_use = [] { return management.used_bytes(uuid); };
  options.command = [](const failure_case&, const arm& of, std::optional<std::int64_t>, int) {
    return std::vector<std::string>{beside() / "cufault",
                                    "trial",
                                    "memory.create_under_pressure",
                                    of.name,
                                    "--parent",
                                    std::to_string(getpid()),
                                    "--stage",
                                    "0"};
  };
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const observation seen = run_trial(c, a, {}, 0, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (seen.ended != outcome::completed) throw std::runtime_error("the trial did not complete: " + seen.why);
    state.SetIterationTime(taken.count());
  }
}

void one_squeeze(benchmark::State& state) {
  for (auto _ : state) {
    std::string said;
    run_once({beside() / "own_cost", "--squeeze-once"}, &said);
    double milliseconds = 0, held = 0, left = 0;
    if (std::sscanf(said.c_str(), "%lf %lf %lf", &milliseconds, &held, &left) != 3)
      throw std::runtime_error("squeeze said " + said);
    state.SetIterationTime(milliseconds / 1000);
    state.counters["held_GB"] = held / 1e9;
    state.counters["left_MiB"] = left / (1 << 20);
  }
}

int squeeze_once() {
  cudaFree(nullptr);
  const auto device = current_device_memory();
  const auto start = std::chrono::steady_clock::now();
  const memory_pressure held(*device, 2_MiB);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  std::printf("%f %f %f\n", taken.count(), static_cast<double>(held.held_bytes()),
              static_cast<double>(held.free_bytes()));
  return 0;
}

/// Prints as usual and keeps the medians.
class keep_medians : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& r : runs) {
      if (r.aggregate_name == "median") median[r.run_name.function_name] = r.GetAdjustedRealTime();
    }
  }
  std::map<std::string, double> median;
};

bool within(const char* what, double measured, double bar, const char* unit) {
  fmt::print("{}: {:.3f}{} (bar {}{}): {}\n", what, measured, unit, bar, unit,
             measured <= bar ? "within" : "ABOVE");
  return measured <= bar;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--squeeze-once") return squeeze_once();
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> words(argv, argv + argc);
  words.insert(words.begin() + 1, interleave.data());
  int count = static_cast<int>(words.size());
  benchmark::Initialize(&count, words.data());
  if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;
  const auto add = [](const char* name, void (*body)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, body)
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(20)
        ->Unit(benchmark::kMillisecond);
  };
  add("bare_process", one_bare_process);
  add("trial", one_trial);
  add("squeeze", one_squeeze);
  try {
    // The squeeze by itself: the device takes a while to clear what it gave back, and the next process would
    // pay.
    keep_medians reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter, "bare_process|trial");
    benchmark::RunSpecifiedBenchmarks(&reporter, "squeeze");
    const bool trial_ok = within("trial over bare process",
                                 reporter.median.at("trial") / reporter.median.at("bare_process"), 1.15, "");
    const bool squeeze_ok = within("squeeze to 2 MiB", reporter.median.at("squeeze"), 50, " ms");
    return trial_ok && squeeze_ok ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "own_cost: {}\n", e.what());
    return 2;
  }
}
