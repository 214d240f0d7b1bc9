// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// own_cost: what a trial and a squeeze cost on this machine.
//   trial    beside a bare process with the same calls; 20 rounds in random order. The bare process runs twice in each:
//            the difference of the two is the noise
//   squeeze  holds all device memory but 2 MiB; 20 times, each in a new process
//   own_cost [--tiny] [--benchmark_out=FILE.json] [other options of Google Benchmark]
// --tiny: two rounds, for a test.
#include "harness/benchmarks/samples.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/process.hpp"

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

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

double bare_process_seconds() {
  return run_once({beside() / "bare_create"}) / 1000;
}

/// A trial as `cufault run` makes it, with both checks of device memory.
double trial_seconds() {
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
  const auto start = std::chrono::steady_clock::now();
  const observation seen = run_trial(c, a, {}, 0, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (seen.ended != outcome::completed) throw std::runtime_error("the trial did not complete: " + seen.why);
  return taken.count();
}

double squeeze_seconds() {
  std::string said;
  run_once({beside() / "own_cost", "--squeeze-once"}, &said);
  double milliseconds = 0;
  if (std::sscanf(said.c_str(), "%lf", &milliseconds) != 1) throw std::runtime_error("squeeze said " + said);
  return milliseconds / 1000;
}

int squeeze_once() {
  cudaFree(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const memory_pressure held(2_MiB);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  std::printf("%f\n", taken.count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--squeeze-once") return squeeze_once();
  return measured_by("own_cost", argc, argv, [](bool tiny) {
    const int rounds = tiny ? 2 : 20;
    struct side {
      const char* name;
      double (*seconds)();
      std::vector<double> samples = {};
    };
    std::array sides{side{"bare_process", bare_process_seconds},
                     side{"bare_process_again", bare_process_seconds}, side{"trial", trial_seconds},
                     side{"squeeze", squeeze_seconds}};
    const auto take = [](side& from) { from.samples.push_back(from.seconds()); };
    std::mt19937_64 random(std::random_device{}());
    in_rounds(rounds, 3, random, [&](std::size_t which) { take(sides[which]); });
    // By itself: the device takes a while to clear what it gave back, and the next process would pay.
    for (int round = 0; round < rounds; ++round) take(sides[3]);
    for (const side& each : sides) add_samples(each.name, benchmark::kMillisecond, each.samples);
  });
}
