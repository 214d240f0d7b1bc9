// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/shared_process.hpp"

#include "harness/system/host_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cufault {

std::map<std::string, std::string> variables_at_start(const arm& a) {
  std::map<std::string, std::string> all = a.environment;
  if (a.framework.empty()) return all;
  for (const char* late : {"CC", "CUBLASLT_WORKSPACE_SIZE", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING",
                           "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "PATH"})
    all.erase(late);
  return all;
}

std::string shared_process_key(const arm& a) {
  if (!a.shares_process) return {};
  std::string key = a.needs == need::gpu ? "gpu" : "host";
  if (a.under_mps) key += " mps";
  if (!a.framework.empty()) key += " " + a.framework;
  if (!a.batch.empty()) key += " " + a.batch;
  for (const auto& [name, value] : variables_at_start(a)) key += fmt::format(" {}={}", name, value);
  if (!a.preload.empty()) key += fmt::format(" preload {}", fmt::join(a.preload, ":"));
  return key;
}

shared_process::shared_process(std::size_t most) : most_(most) {}
shared_process::~shared_process() = default;

/// Each lane may have as many, and each has a framework's data of its own.
std::size_t shared_process::most_interpreters() {
  constexpr std::uint64_t ample = 32ULL << 30U;
  return available_host_memory() >= ample ? 4 : 1;
}

process_result shared_process::run(const arm& a, const std::vector<std::string>& command,
                                   const std::string& request, const std::vector<std::string>& mps_keeper,
                                   const std::function<void(std::string_view)>& on_report, int stop) {
  const std::string key = fmt::format("{}\n{}", shared_process_key(a), fmt::join(command, "\n"));
  const bool forks = !a.framework.empty();
  std::erase_if(kept_, [&](const kept& each) { return each.process && each.key != key; });
  auto at = std::ranges::find(kept_, key, &kept::key);
  if (at == kept_.end()) {
    while (forks && kept_.size() >= most_) kept_.pop_front();
    kept fresh{.key = key, .scratch = std::make_unique<scratch_folder>()};
    spawn_options options;
    options.argv = command;
    // A batch damages its process on purpose, from its first call on: no check for damage.
    if (a.needs == need::gpu && a.batch.empty()) options.argv.emplace_back("--gpu");
    // No CUFAULT_SCRATCH: a shared folder would not be empty at the start of each trial.
    options.environment = {{"CUFAULT_SCRATCH", ""},
                           {"CUDA_CACHE_PATH", fresh.scratch->path().string() + "/cache"}};
    for (const auto& [name, value] : variables_at_start(a)) options.environment[name] = value;
    if (a.under_mps) {
      fresh.mps = std::make_unique<mps_daemon>(mps_keeper, a.environment, stop);
      options.environment.merge(fresh.mps->variables());
    }
    options.preload = a.preload;
    if (forks)
      fresh.forks = std::make_unique<forking_process>(options, stop);
    else
      fresh.process = std::make_unique<resident_process>(options);
    at = kept_.insert(kept_.end(), std::move(fresh));
    ++counts_.processes;
  }
  kept_.splice(kept_.end(), kept_, at);
  ++counts_.trials;
  resident_process::answer said;
  try {
    if (at->forks) {
      const auto seen = at->forks->run(request, a.timeout, on_report, stop);
      if (seen) return *seen;
      said.process = at->forks->ended();
    } else {
      said = at->process->ask(request, a.timeout, on_report, stop);
    }
  } catch (...) {
    kept_.erase(at);
    throw;
  }
  if (!said.answered) {
    kept_.erase(at);
  } else if (!said.text.empty() || said.process.stragglers > 0) {
    counts_.damaged.push_back(said.text.empty() ? "a trial left processes running" : said.text);
    said.process.stragglers = at->process->end();
    kept_.erase(at);
  }
  return std::move(said.process);
}

void shared_process::make_way_for(const arm& a) {
  // The process may stay beside an arm on the same GPU. But while this lane runs an arm without a GPU, another arm may fill that GPU.
  if (a.needs == need::host) leave_gpu();
}

void shared_process::leave_gpu() {
  std::erase_if(kept_, [](const kept& each) { return each.process != nullptr; });
}

void shared_process::retire() {
  kept_.clear();
}

shared_process::counts shared_process::take_counts() {
  return std::exchange(counts_, {});
}

}  // namespace cufault
