// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// One lane of a run: runs the arms that it is asked for, one job after another.
#pragma once

#include "harness/cli/cli.hpp"
#include "harness/cli/run_gpus.hpp"
#include "harness/cli/run_plan.hpp"
#include "harness/run/nvml.hpp"
#include "harness/run/python.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/shared_process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

class run_lane {
 public:
  /// What all lanes of a run have in common. Borrowed.
  struct of_run {
    const run_arguments& arguments;
    const runner_options& options;
    const run_plan& plan;
    const run_gpus& gpus;
    const std::optional<python_environment>& python;
    std::uint64_t seed;
  };
  explicit run_lane(const of_run& run) : run_(run) {}

  static std::string request(std::size_t job, std::optional<std::size_t> gpu);  ///< for serve()
  static std::string leave_gpu() { return {}; }  ///< for serve(): another lane wants a GPU to itself
  /// In the lane's process. Returns a lane_report as to_wire() writes it. Throws interrupted.
  std::string serve(const std::string& request, int stop);
  void retire() { shared_.retire(); }  ///< ends the process that trials share

 private:
  /// Of one job: where it runs, and what its trials are started by.
  [[nodiscard]] runner_options options_for(const job& j, std::size_t number, int gpu, int device, int stop);
  [[nodiscard]] std::vector<std::string> own_command(std::vector<std::string> words, int device) const;
  [[nodiscard]] std::vector<std::string> trial_command(const failure_case& c, const arm& a,
                                                       std::optional<std::int64_t> level, int repeat,
                                                       int device) const;
  [[nodiscard]] std::string shared_request(const failure_case& c, const arm& a, int repeat) const;
  [[nodiscard]] bool is_batch(const job& j) const;

  of_run run_;
  shared_process shared_;
  std::optional<nvml> management_;
  int gpu_ = -1;  // that shared_ is on
};

}  // namespace cufault
