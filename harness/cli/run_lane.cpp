// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_lane.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/base/lines.hpp"
#include "reports/base/words.hpp"
#include "reports/model/arm_line.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace cufault {

template <class Fields>
void describe_fields(shared_process::counts& c, Fields& f) {
  f("trials", c.trials);
  f("processes", c.processes);
  f("damaged", c.damaged);
}

namespace {

struct job_on_gpu {
  std::optional<std::uint64_t> job{}, gpu{}, again{};
};
template <class Fields>
void describe_fields(job_on_gpu& r, Fields& f) {
  f("job", r.job);
  f("gpu", r.gpu);
  f("again", r.again);
}

std::uint64_t seed_of_trial(std::uint64_t seed, const failure_case& c, const arm& a,
                            std::optional<std::int64_t> level, int repeat) {
  std::uint64_t state = stable_hash(
      fmt::format("{}/{} {} {} {}", c.name, a.name, seed, level ? std::to_string(*level) : "-", repeat));
  return next_random(state);
}

}  // namespace

std::string lane_request(std::optional<std::uint64_t> job, std::optional<std::uint64_t> gpu,
                         std::optional<std::uint64_t> again) {
  return dump_json(write_json(job_on_gpu{job, gpu, again}));
}

lane_report lane_report_from(std::string_view answer) {
  lane_report report;
  each_line(answer, [&](std::string_view line, int number, bool /*whole*/) {
    if (number == 1)
      report.shared =
          read_json_value<shared_process::counts>(json_cursor{parse_json("a lane's answer", line)});
    else
      report.lines.emplace_back(line);
  });
  return report;
}

run_lane::place run_lane::place_of(std::optional<std::size_t> gpu) const {
  const auto& gpus = run_.gpus.all();
  if (!gpu) return {gpus.empty() ? run_.arguments.where.device : gpus.front().number};
  const run_gpus::gpu& given = gpus.at(*gpu);
  if (run_.gpus.in_the_machine() == 1) return {given.number, given.uuid};
  // Of several GPUs, a trial sees its own, as number 0: what others do on theirs then changes nothing on it.
  return {0, given.uuid, given.uuid};
}

bool run_lane::is_batch(const job& j) const {
  return !j.arms.front().second->batch.empty() && !run_.arguments.separate;
}

std::string run_lane::serve(const std::string& request, int stop) {
  const auto asked = read_json_value<job_on_gpu>(json_cursor{parse_json("a request to a lane", request)});
  if (!asked.job) {
    shared_.leave_gpu();
    return {};
  }
  const job& j = run_.jobs.at(*asked.job);
  const work_item& item = run_.items.at(*asked.job);
  // A request to leave the GPUs reaches idle lanes alone: a lane that changes its GPU ends what it keeps on the other itself.
  if (asked.gpu != gpu_) shared_.leave_gpu();
  gpu_ = asked.gpu;
  const place at = place_of(asked.gpu);
  const auto arms = asked.again ? std::span(j.arms).subspan(*asked.again, 1) : std::span(j.arms);
  // Trials of a framework are forks of an interpreter that they cannot change: alone all the same.
  const bool batch = !asked.again && is_batch(j),
             shares = batch ||
                      (!item.process.empty() && (!asked.again || !arms.front().second->framework.empty()));
  if (!shares) shared_.make_way_for(*arms.front().second);
  // A batch holds memory from one arm to the next.
  const runner_options options = options_for(at, item.exclusive && !batch, shares, stop);
  std::string lines;
  for (const auto& [index, a] : arms) {
    arm here = as_often_as_asked(*a, run_.arguments);
    const int first = asked.again ? std::exchange(here.repeats, trials_of_second_look) : 0;
    if (!at.visible.empty()) here.environment.try_emplace("CUDA_VISIBLE_DEVICES", at.visible);
    arm_result result = run_arm(*j.of, here, options, first);
    for (observation& o : result.trials) o.gpu = at.uuid.empty() ? "" : hash_of(at.uuid);
    lines += dump_json(arm_json(j.of->name, result)) + "\n";
  }
  if (batch) shared_.retire();
  return dump_json(write_json(shared_.take_counts())) + "\n" + lines;
}

runner_options run_lane::options_for(const place& at, bool watches_memory, bool shares, int stop) {
  runner_options options = run_.options;
  options.stop = stop;
  if (watches_memory) {
    if (!management_) management_.emplace();
    options.in_use = [this, uuid = at.uuid] { return management_->used_bytes(uuid); };
  }
  options.command = [this, device = at.device](const failure_case& c, const arm& a,
                                               std::optional<std::int64_t> level, int repeat) {
    return trial_command(c, a, level, repeat, device);
  };
  if (!shares) return options;
  options.shared = &shared_;
  options.shared_command = [this, device = at.device](const arm& a) {
    return a.framework.empty()
               ? with_libraries({"trials"}, device)
               : run_.python->command({"serve", "--device", std::to_string(device)}, a.framework);
  };
  options.shared_request = [this](const failure_case& c, const arm& a, int repeat) {
    return shared_request(c, a, repeat);
  };
  return options;
}

std::vector<std::string> run_lane::with_libraries(const std::vector<std::string>& words, int device) const {
  target where = run_.arguments.where;
  where.device = device;
  return argv_of_child(own_path(), words, where);
}

std::vector<std::string> run_lane::trial_command(const failure_case& c, const arm& a,
                                                 std::optional<std::int64_t> level, int repeat,
                                                 int device) const {
  const std::string seed = std::to_string(seed_of_trial(run_.seed, c, a, level, repeat));
  if (!a.framework.empty())
    return run_.python->command({"trial", c.name, a.name, "--seed", seed, "--device", std::to_string(device)},
                                a.framework);
  std::vector<std::string> own{"trial", c.name, a.name, "--stage", "0", "--seed", seed};
  if (level) {
    own.emplace_back("--level");
    own.push_back(std::to_string(*level));
  }
  return with_libraries(own, device);
}

std::string run_lane::shared_request(const failure_case& c, const arm& a, int repeat) const {
  nlohmann::json request{{"case", c.name},
                         {"arm", a.name},
                         {"seed", seed_of_trial(run_.seed, c, a, {}, repeat)},
                         {"alone", run_.arguments.jobs == 1}};
  if (!a.framework.empty()) request["environment"] = a.environment;
  return request.dump();
}

}  // namespace cufault
