// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/shared_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace cufault {

std::string shared_process_key(const arm& a) {
  if (!a.shares_process) return {};
  std::string key = a.needs == need::gpu ? "gpu" : "host";
  if (a.under_mps) key += " mps";
  if (!a.framework.empty()) key += " " + a.framework;
  if (!a.batch.empty()) key += " " + a.batch;
  for (const auto& [name, value] : a.environment) key += fmt::format(" {}={}", name, value);
  if (!a.preload.empty()) key += fmt::format(" preload {}", fmt::join(a.preload, ":"));
  return key;
}

shared_process::shared_process() = default;
shared_process::~shared_process() = default;

process_result shared_process::run(const arm& a, const std::vector<std::string>& command,
                                   const std::string& request, const std::vector<std::string>& mps_keeper,
                                   const std::function<void(std::string_view)>& on_report, int stop) {
  const std::string key = fmt::format("{}\n{}", shared_process_key(a), fmt::join(command, "\n"));
  if (key != key_) retire();
  if (!process_) {
    scratch_ = std::make_unique<scratch_folder>();
    spawn_options options;
    options.argv = command;
    // A batch damages its process on purpose, from its first call on: no check for damage.
    if (a.needs == need::gpu && a.batch.empty()) options.argv.emplace_back("--gpu");
    // No CUFAULT_SCRATCH: a shared folder would not be empty at the start of each trial.
    options.environment = {{"CUFAULT_SCRATCH", ""},
                           {"CUDA_CACHE_PATH", scratch_->path().string() + "/cache"}};
    for (const auto& [name, value] : a.environment) options.environment[name] = value;
    if (a.under_mps) {
      mps_ = std::make_unique<mps_daemon>(mps_keeper, a.environment, stop);
      options.environment.merge(mps_->variables());
    }
    options.preload = a.preload;
    process_ = std::make_unique<resident_process>(options);
    key_ = key;
    forks_ = !a.framework.empty();
    ++counts_.processes;
  }
  ++counts_.trials;
  resident_process::answer said;
  try {
    said = process_->ask(request, a.timeout, on_report, stop);
  } catch (...) {
    retire();
    throw;
  }
  if (!said.answered) {
    retire();
  } else if (!said.text.empty() || said.process.stragglers > 0) {
    counts_.damaged.push_back(said.text.empty() ? "a trial left processes running" : said.text);
    said.process.stragglers = process_->end();
    retire();
  }
  return std::move(said.process);
}

void shared_process::make_way_for(const arm& a) {
  // The process may stay beside an arm on the same GPU. But while this lane runs an arm without a GPU, another arm may fill that GPU.
  if (a.needs == need::host) retire();
}

void shared_process::leave_gpu() {
  if (!forks_) retire();
}

void shared_process::retire() {
  process_.reset();
  mps_.reset();
  scratch_.reset();
  key_.clear();
  forks_ = false;
}

shared_process::counts shared_process::take_counts() {
  return std::exchange(counts_, {});
}

}  // namespace cufault
