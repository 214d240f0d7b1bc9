// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_lane.hpp"

#include "harness/run/wire.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <sstream>
#include <utility>

namespace cufault {
namespace {

std::uint64_t seed_of_trial(std::uint64_t seed, const failure_case& c, const arm& a,
                            std::optional<std::int64_t> level, int repeat) {
  std::uint64_t state = stable_hash(
      fmt::format("{}/{} {} {} {}", c.name, a.name, seed, level ? std::to_string(*level) : "-", repeat));
  return next_random(state);
}

}  // namespace

std::string run_lane::request(std::size_t job, std::optional<std::size_t> gpu) {
  return fmt::format("{} {}", job, gpu ? static_cast<int>(*gpu) : -1);
}

std::string run_lane::serve(const std::string& request, int stop) {
  std::istringstream words(request);
  std::size_t number = 0;
  int gpu = -1;
  if (!(words >> number >> gpu)) {
    shared_.leave_gpu();
    return {};
  }
  const job& j = run_.plan.jobs().at(number);
  // What stays of a GPU is found by ask_idle(): not while this lane is busy with another one.
  if (gpu != gpu_) shared_.retire();
  gpu_ = gpu;
  // Of several GPUs, a trial sees its own, as number 0: what others do on theirs then changes nothing on it.
  const auto& gpus = run_.gpus.all();
  const std::string uuid = gpu >= 0 ? gpus.at(static_cast<std::size_t>(gpu)).uuid : std::string();
  const std::string only = run_.gpus.in_the_machine() > 1 ? uuid : std::string();
  int device = gpus.empty() ? run_.arguments.where.device : gpus.front().number;
  if (!only.empty())
    device = 0;
  else if (gpu >= 0)
    device = gpus.at(static_cast<std::size_t>(gpu)).number;

  runner_options options = options_for(j, number, gpu, device, stop);
  if (!is_batch(j) && run_.plan.items()[number].process.empty()) {
    shared_.make_way_for(*j.arms.front().second);
    options.shared = nullptr;
  }
  lane_report report;
  for (const auto& [index, a] : j.arms) {
    arm here = as_often_as_asked(*a, run_.arguments);
    if (!only.empty()) here.environment.try_emplace("CUDA_VISIBLE_DEVICES", only);
    report.arms.push_back(run_arm(*j.of, here, options).trials);
    for (observation& o : report.arms.back()) o.gpu = uuid;
  }
  if (is_batch(j)) shared_.retire();
  report.shared = shared_.take_counts();
  return to_wire(report);
}

bool run_lane::is_batch(const job& j) const {
  return !j.arms.front().second->batch.empty() && !run_.arguments.separate;
}

runner_options run_lane::options_for(const job& j, std::size_t number, int gpu, int device, int stop) {
  runner_options options = run_.options;
  options.stop = stop;
  if (run_.plan.items()[number].exclusive && !is_batch(j)) {  // a batch holds memory from one arm to the next
    if (!management_) management_.emplace();
    options.in_use = [&, uuid = run_.gpus.all().at(static_cast<std::size_t>(gpu)).uuid] {
      return management_->used_bytes(uuid);
    };
  }
  options.command = [this, device](const failure_case& c, const arm& a, std::optional<std::int64_t> level,
                                   int repeat) { return trial_command(c, a, level, repeat, device); };
  options.shared = &shared_;
  options.shared_command = [this, device](const arm& a) {
    return a.framework.empty() ? own_command({"trials"}, device)
                               : run_.python->command({"serve", "--device", std::to_string(device)});
  };
  options.shared_request = [this](const failure_case& c, const arm& a, int repeat) {
    return shared_request(c, a, repeat);
  };
  return options;
}

std::vector<std::string> run_lane::own_command(std::vector<std::string> words, int device) const {
  words.insert(words.begin(), own_path());
  for (const std::string& more :
       {std::string("--parent"), std::to_string(getpid()), std::string("--device"), std::to_string(device),
        std::string("--cublas"), run_.arguments.where.cublas, std::string("--cublaslt"),
        run_.arguments.where.cublaslt})
    words.push_back(more);
  return words;
}

std::vector<std::string> run_lane::trial_command(const failure_case& c, const arm& a,
                                                 std::optional<std::int64_t> level, int repeat,
                                                 int device) const {
  const std::string seed = std::to_string(seed_of_trial(run_.seed, c, a, level, repeat));
  if (!a.framework.empty())
    return run_.python->command(
        {"trial", c.name, a.name, "--seed", seed, "--device", std::to_string(device)});
  std::vector<std::string> own{"trial", c.name, a.name, "--stage", "0", "--seed", seed};
  if (level) {
    own.emplace_back("--level");
    own.push_back(std::to_string(*level));
  }
  return own_command(std::move(own), device);
}

std::string run_lane::shared_request(const failure_case& c, const arm& a, int repeat) const {
  return nlohmann::json{{"case", c.name},
                        {"arm", a.name},
                        {"seed", seed_of_trial(run_.seed, c, a, {}, repeat)},
                        {"alone", run_.arguments.jobs == 1}}
      .dump();
}

}  // namespace cufault
