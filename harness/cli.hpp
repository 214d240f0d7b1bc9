// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/properties.hpp"
#include "harness/stack.hpp"
#include "reports/judge.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cufault {

/// What was asked for cannot be done. what() is the one line that the user reads; the exit code goes with it.
class usage_error : public std::runtime_error {
 public:
  explicit usage_error(const std::string& line, int code = 2) : std::runtime_error(line), exit_code(code) {}
  int exit_code;
};

/// Exit codes beside those of exit_code() in reports/judge.hpp.
inline constexpr int exit_gate = 1, exit_unresolved = 2, exit_skipped = 77, exit_interrupted = 130;

struct run_arguments {
  std::vector<std::string> names;  ///< cases, families, or CASE/ARM, where * is anything; all cases if empty
  run_mode mode = run_mode::observe;
  std::filesystem::path records = "records", expectations;
  target where;
  std::optional<std::uint64_t> seed;
  test_tier tier = test_tier::full;  ///< only what it has, and what is named itself
  std::pair<int, int> part{1, 1};    ///< only the first-th of so many parts of each case; controls are in all
  bool shuffle = false;              ///< cases, and arms within each, in an order drawn from the seed
  int wait_seconds = 10;
  int not_provoked_budget = 0;
  std::vector<std::string> argv;  ///< for the record
};

struct sweep_arguments {
  run_arguments run;  ///< `names` are operations: "sgemm", "cublasCreate", "cublas_create/first"
  bool thin = false, grouped = false;
  std::pair<int, int> shard{1, 1};
  std::string row;  ///< "libcublas:cuMemAlloc_v2:3=OUT_OF_MEMORY"
};

struct bless_arguments {
  std::filesystem::path record, expectations;
  std::vector<std::string> names, when;     ///< when: "KEY=COMPARISONS"
  std::vector<std::filesystem::path> with;  ///< further records, for the rates of arms that race
};

struct inject_arguments {
  std::filesystem::path rules, log;
  std::vector<std::string> fail;     ///< "cuMemAlloc_v2:3=OUT_OF_MEMORY"
  bool strict = false;               ///< wrong rules end it before anything runs
  std::vector<std::string> command;  ///< never empty
};

int run_cases(const run_arguments& arguments);
int sweep_operations(const sweep_arguments& arguments);
int show_stack(const target& where, bool json);
int list_cases(bool json);
int bless(const bless_arguments& arguments);
int show_claims(const std::vector<std::filesystem::path>& records, bool json, bool markdown);
int show_record(const std::filesystem::path& file, bool markdown);
int show_differences(const std::vector<std::filesystem::path>& records, bool by_stack, bool markdown);
int show_twins(const std::vector<std::filesystem::path>& records, bool markdown);
int show_causes(const std::string& status, const std::vector<std::filesystem::path>& records, bool markdown);
int show_atlas(const std::vector<std::filesystem::path>& records, bool overview, bool markdown);
int inject(const inject_arguments& arguments);               ///< becomes the command
int trace_command(const std::vector<std::string>& command);  ///< returns its exit code
int preflight(const target& where, const std::filesystem::path& records);
int check_floor(const std::filesystem::path& records, int at_least);

/// Where this program lies, and its data: in the source tree, or beside an installed program.
std::filesystem::path own_path();
std::filesystem::path default_expectations();
std::filesystem::path default_recorded();
std::filesystem::path claims_file();
std::filesystem::path failures_file();

/// True if CUFAULT_REQUIRE_GPU is set to 1: no GPU is then a failure.
bool gpu_required();

// What only a build with CUDA can do; without, each says so (harness/gpu_commands_absent.cpp).
struct trial_arguments {
  std::string case_name, arm;
  std::optional<std::int64_t> rung;
  std::uint64_t seed = 0;
  int stage = 0;
  target where;
};
int serve_trial(const trial_arguments& arguments);
int serve_neighbour(int device, std::uint64_t leave_free);
int serve_probe(const target& where);
inline constexpr const char* build_it_with_cuda =
    "this cufault was built without CUDA and has no cases; build it with a toolkit: ci/suite --cuda";

}  // namespace cufault
