// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "harness/system/process.hpp"
#include "reports/judge/judge.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class shared_process;

/// Returns the command line of a trial: argv for an arm of a case at a level. `cufault run` gives its own path and hidden `trial` command;
/// tests give a hostile child.
using trial_command = std::function<std::vector<std::string>(const failure_case&, const arm&,
                                                             std::optional<std::int64_t> level, int repeat)>;

/// Device memory in use by all processes, in bytes, read without a CUDA context (NVML); nullopt if it cannot be read.
using memory_in_use = std::function<std::optional<std::uint64_t>()>;

struct runner_options {
  trial_command command;
  memory_in_use in_use;                   ///< may be empty
  std::vector<std::string> mps_keeper{};  ///< a program that runs keep_mps_daemon(), for arms under MPS
  std::string no_gpu;                     ///< why no GPU can be used; empty if one can
  bool other_cublas = false;              ///< whether a second pair was given
  /// Why an arm of a framework cannot run; "" if it can. Without this function none can.
  std::function<std::string(const arm&)> no_framework{};
  /// Folders and files of this installation, replaced by "<cufault>" in the output of trials.
  std::vector<std::filesystem::path> own_paths{};
  int stop = -1;                     ///< descriptor that becomes readable when the run is to end
  shared_process* shared = nullptr;  ///< for arms that share a process; null: every trial has one of its own
  std::function<std::vector<std::string>(const arm&)>
      shared_command;  ///< what serves them (shared_process::command)
  /// The request for a trial in a shared process.
  std::function<std::string(const failure_case&, const arm&, int repeat)> shared_request;
  /// Larger changes of device memory, in bytes, make a trial inconclusive.
  std::uint64_t memory_slack_bytes = 4u << 20;
  /// How long freed memory may take to return after a trial.
  std::chrono::milliseconds memory_settle{2000};
  /// How long device memory must stay unchanged before a trial is repeated because it moved. Without in_use: how long to wait.
  std::chrono::milliseconds memory_rest{500};
};

/// Runs one trial in its own process, or in a shared one if arm and options say so, and returns its observation. The trial gets an empty
/// folder (CUFAULT_SCRATCH, under TMPDIR) that also holds code compiled by the driver (CUDA_CACHE_PATH) and is removed afterwards.
/// The first match decides the ending:
/// - garbled or cut-short frames: harness_failed
/// - the trial said not_provoked, memory_moved, harness_failed or out_of_time: that, if `done` and exit 0 follow without stragglers, else
/// harness_failed
/// - watchdog: timed_out
/// - SIGKILL, SIGTERM, SIGINT or SIGHUP, or a signal before `done` outside a call: harness_failed; other signals: crashed
/// - exit with a call in flight: crashed
/// - `done` and exit 0 without stragglers: completed
/// - anything else, or a process that cannot be started or ended, or no folder: harness_failed
/// If memory in use moved across the trial of an arm that needs a GPU, or became unreadable: not_provoked with the amount; harness_failed
/// stays. Throws interrupted.
observation run_trial(const failure_case& c, const arm& a, std::optional<std::int64_t> level, int repeat,
                      const runner_options& options);

/// Replaces each path that equals or lies in one of `own` by "<cufault>".
std::string without_own_paths(std::string_view text, const std::vector<std::filesystem::path>& own);

/// The record of an arm before any trial.
arm_result result_of(const failure_case& c, const arm& a);

/// Why no trial of the arm can be started here; "" if one can.
std::string why_not_run(const arm& a, const runner_options& options);

/// Runs all trials of an arm: its levels with refinement, its repeats. A trial during which another process moved device memory is repeated
/// up to three times. A trial that ran out of time outside an observed call, or in a row of a table, is repeated once; the last result
/// counts. Without a needed GPU or second pair of libraries the arm gets one not_provoked observation with the reason. Observations are
/// sorted by level. The edge of the level range is added to the first observation's measurements as "largest failing" and "smallest
/// succeeding". It lies between the highest failing level and the level above it, if that succeeds; a level fails if any repeat fails.
/// Refinement ends at a trial that is not comparable, which is kept. `first`: number of the first repeat, of an arm without levels, on which
/// its seed depends. Throws interrupted.
arm_result run_arm(const failure_case& c, const arm& a, const runner_options& options, int first = 0);

}  // namespace cufault
