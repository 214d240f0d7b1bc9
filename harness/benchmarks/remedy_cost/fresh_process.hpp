// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/remedy_cost/comparisons.hpp"
#include "harness/model/target.hpp"
#include "harness/system/process.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// Remedies that need a process of their own: environment variables, a new process, a reset of the device.
namespace cufault::remedy_cost {

/// Variables that a process starts with, and the remedy that sets them.
struct setting {
  std::string remedy, words;
  std::map<std::string, std::string> environment;
};
/// No remedy, no remedy again, and the remedies of the matrix that set variables, the most requested first.
std::vector<setting> all_settings();
/// The environment for measuring without remedies: unsets each variable that a remedy sets.
std::map<std::string, std::string> without_remedies();

/// Why a process gave no figures.
std::string how_it_ended(const process_result& ended);

/// In the started process: measures and reports to report_fd. Returns its exit code. `reset`: also resets the device at the end.
int serve_fresh_process(const target& where, size how_large, bool reset);

struct fresh_processes {
  target where;
  size how_large = size::usual;
  std::uint64_t seed = 1;
  std::chrono::duration<double> at_most{60};
  int stop = -1;  ///< as of run_process()
};
/// Runs the settings in rounds, A B C C B A; the seed decides the order of each pair. Only whole pairs. If time is short for `least`
/// rounds, the last settings are left out. `told` gets each comparison at the end. Returns the remedies left out.
std::vector<std::string> measure_fresh_processes(const fresh_processes& how,
                                                 const std::function<void(cost_comparison)>& told);

}  // namespace cufault::remedy_cost
