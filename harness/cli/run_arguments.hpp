// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a run is asked for, by `run` and by commands that run cases for their own ends.
#pragma once

#include "harness/model/properties.hpp"
#include "harness/model/target.hpp"
#include "harness/run/python.hpp"
#include "reports/model/record.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

struct run_arguments {
  std::vector<std::string> names;  ///< cases, families, or CASE/ARM, where * is anything; all cases if empty
  run_mode mode = run_mode::observe;
  std::filesystem::path records = "records";
  std::vector<std::filesystem::path> baselines;  ///< folders of stacks that judge; none: nothing is judged
  target where;
  std::vector<std::filesystem::path> pythons;  ///< for arms of frameworks, a run each; none: they do not run
  std::vector<int>
      devices;  ///< to run on side by side; empty: the first, all of them, or what CTest allocates
  bool all_devices = false;
  int jobs = 0;           ///< arms side by side; 0: by what runs, and the processors
  bool verbose = false;   ///< tell of every arm
  bool separate = false;  ///< every trial in a process of its own
  bool json = false;      ///< the summary as JSON
  bool quiet = false;     ///< nothing on standard output
  std::map<std::string, std::filesystem::path> reports;  ///< where to write the run, too, by format
  std::optional<std::uint64_t> seed;
  test_tier tier = test_tier::full;  ///< only what it has, and what is named itself
  /// Most trials of an arm that races; 0: as many as it has; empty: as the tier says.
  std::optional<int> repeats;
  std::pair<int, int> part{1, 1};  ///< only the first-th of so many parts of each case; controls are in all
  bool shuffle = false;            ///< cases, and arms within each, in an order drawn from the seed
  int wait_seconds = 10;
  int import_seconds = 30;  ///< patience with the import of a framework
  int not_provoked_budget = 0;
  std::map<std::string, std::string>
      chosen;                     ///< values of CUDA_MODULE_LOADING and CUBLAS_WORKSPACE_CONFIG for trials
  std::vector<std::string> argv;  ///< for the record
};

/// Throws usage_error where a library that was named is not there. Null in a build without CUDA, where no trial takes one.
[[gnu::weak]] void check_libraries(const target& where);

int run_cases(const run_arguments& arguments);
struct run_outcome {
  int exit_code = 0;
  std::filesystem::path record;  ///< empty where there was nothing to run
};
/// The same in one Python, or without one. `stop`: descriptor that becomes readable when the run is to end.
run_outcome run_cases_in(const run_arguments& arguments, std::optional<python_environment> python, int stop);

}  // namespace cufault
