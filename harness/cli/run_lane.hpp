// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/cli.hpp"
#include "harness/cli/run_gpus.hpp"
#include "harness/cli/run_plan.hpp"
#include "harness/run/nvml.hpp"
#include "harness/run/python.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/scheduler.hpp"
#include "harness/run/shared_process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// How many further trials an arm gets that came out otherwise than recorded.
inline constexpr int trials_of_second_look = 3;

/// What a lane is asked: to run a job, by its number, on a GPU, by its place among those of the run. Without a job: to leave the GPUs,
/// because another lane wants one to itself. `again`: of the job only this arm, by its place in it, for a second look: further trials, in
/// processes of their own.
std::string lane_request(std::optional<std::uint64_t> job = {}, std::optional<std::uint64_t> gpu = {},
                         std::optional<std::uint64_t> again = {});

/// What a lane answers to a job.
struct lane_report {
  std::vector<std::string> lines;  ///< of the record: one for each arm, in the job's order
  shared_process::counts shared;
};
lane_report lane_report_from(std::string_view answer);  ///< throws input_error

/// A lane of a run: runs the jobs that it is asked for, one after another, in a process of its own.
class run_lane {
 public:
  /// What all lanes of a run have in common. Borrowed: it is to outlive the lane.
  struct common {
    const run_arguments& arguments;
    const runner_options& options;
    const std::vector<job>& jobs;
    const std::vector<work_item>& items;  ///< one for each job
    const run_gpus& gpus;
    const std::optional<python_environment>& python;  ///< there if a job is of a framework
    std::uint64_t seed;
  };
  explicit run_lane(const common& run) : run_(run) {}

  /// `request` is of lane_request(); what is returned is for lane_report_from(), and empty where no job was asked for.
  /// `stop`: a descriptor that becomes readable when the run is to end; then it throws interrupted.
  std::string serve(const std::string& request, int stop);
  void retire() { shared_.retire(); }  ///< ends the process that trials share

 private:
  struct place {  // where a job runs
    int device = 0;
    std::string uuid{},
        visible{};  // of its GPU; the value of CUDA_VISIBLE_DEVICES, empty where trials see all GPUs
  };
  [[nodiscard]] place place_of(std::optional<std::size_t> gpu) const;
  [[nodiscard]] bool is_batch(const job& j) const;
  /// `shares`: its trials may share a process.
  [[nodiscard]] runner_options options_for(const place& at, bool watches_memory, bool shares, int stop);
  [[nodiscard]] std::vector<std::string> with_libraries(const std::vector<std::string>& words,
                                                        int device) const;
  [[nodiscard]] std::vector<std::string> trial_command(const failure_case& c, const arm& a,
                                                       std::optional<std::int64_t> level, int repeat,
                                                       int device) const;
  [[nodiscard]] std::string shared_request(const failure_case& c, const arm& a, int repeat) const;

  common run_;
  shared_process shared_;
  std::optional<nvml> management_;
  std::optional<std::size_t> gpu_;  // that shared_ is on
};

}  // namespace cufault
