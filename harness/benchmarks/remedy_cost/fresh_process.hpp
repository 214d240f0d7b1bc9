// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/remedy_cost/comparisons.hpp"
#include "harness/model/target.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// Remedies that take a process of their own: environment variables, a new process itself, a reset of the device.
namespace cufault::remedy_cost {

/// Variables that a process starts with, and whose remedy that is.
struct setting {
  std::string remedy, words;
  std::map<std::string, std::string> environment;
};
/// Without a remedy, the same again, and the remedies of the matrix that set variables: first what is asked for most.
std::vector<setting> all_settings();
/// The environment of a process that measures without remedies: each variable that a remedy sets is unset.
std::map<std::string, std::string> without_remedies();

/// In the started process: measures, and says so on report_fd. Returns its exit code. `reset`: the device, too, at the end.
int serve_fresh_process(const target& where, size how_large, bool reset);

struct fresh_processes {
  target where;
  size how_large = size::usual;
  std::uint64_t seed = 1;
  std::chrono::duration<double> at_most{60};
  int stop = -1;  ///< as of run_process()
};
/// Runs them in rounds, A B C C B A, of which each pair has an order drawn from the seed. Whole pairs only; where time does not do for
/// `least` rounds, the last settings are left out, and say so. `told` gets each comparison at the end. Returns the remedies that were left
/// out.
std::vector<std::string> measure_fresh_processes(const fresh_processes& how,
                                                 const std::function<void(cost_comparison)>& told);

}  // namespace cufault::remedy_cost
