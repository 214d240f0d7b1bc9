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

/// How the runner starts a trial: the argv for an arm of a case at a level. `cufault run` gives its own path
/// and hidden `trial` command; tests give a hostile child.
using trial_command = std::function<std::vector<std::string>(const failure_case&, const arm&,
                                                             std::optional<std::int64_t> level, int repeat)>;

/// Device memory in use by everybody, from outside any CUDA context (NVML); empty where that cannot be read.
using memory_in_use = std::function<std::optional<std::uint64_t>()>;

struct runner_options {
  trial_command command;
  memory_in_use in_use;                   ///< may be empty
  std::vector<std::string> mps_keeper{};  ///< a program that runs keep_mps_daemon(), for arms under MPS
  std::string no_gpu;                     ///< why no GPU can be used; empty if one can
  bool other_cublas = false;              ///< whether a second pair was given
  /// Why an arm of a framework cannot run; empty if it can. Where there is no such function, none can.
  std::function<std::string(const arm&)> no_framework{};
  /// Folders and files of this installation. In what trials print they are replaced by "<cufault>".
  std::vector<std::filesystem::path> own_paths{};
  int stop = -1;                     ///< descriptor that becomes readable when the run is to end
  shared_process* shared = nullptr;  ///< for arms that share a process; null: every trial has one of its own
  std::function<std::vector<std::string>(const arm&)>
      shared_command;  ///< what serves them (shared_process::command)
  /// The request for a trial that shares a process.
  std::function<std::string(const failure_case&, const arm&, int repeat)> shared_request;
  /// Device memory may differ by this much before and after a trial without making it inconclusive.
  std::uint64_t memory_slack_bytes = 4u << 20;
  /// How long freed memory may take to come back after a trial.
  std::chrono::milliseconds memory_settle{2000};
  /// How long device memory must stay as it is before a trial is repeated because it moved; without in_use, how long is waited.
  std::chrono::milliseconds memory_rest{500};
};

/// Runs one trial in a process of its own, or one that is shared where arm and options say so, and returns what it saw. The trial gets an empty folder of its own
/// (CUFAULT_SCRATCH, under TMPDIR), which also holds the code that the driver compiles meanwhile
/// (CUDA_CACHE_PATH), and which is removed behind it.
/// How a process ends maps to an observation as follows: `done` frame and exit 0: completed (or what the
/// trial said: not_provoked, memory_moved, harness_failed, out_of_time); signal, or exit before `done` with a call in flight: crashed;
/// watchdog: timed_out; anything else (exit before `done` outside a call, `done` but another exit code,
/// garbled or cut-short frames, stragglers): harness_failed, with why. A signal outside an observed call
/// before `done` is harness_failed as well; after `done` it is crashed. A trial that said one of these
/// and then did not end with `done` and 0: harness_failed. Garbled or cut-short frames come
/// before everything else; stragglers matter only where the trial would be completed. A process that cannot
/// be started, or not be ended (see run_process), or for which no folder can be made: harness_failed. If
/// device memory in use by everybody moved between before and after (only arms that need a GPU are looked
/// at), or can no longer be read: not_provoked, with by how much; a harness_failed stays what it is. Throws
/// interrupted.
observation run_trial(const failure_case& c, const arm& a, std::optional<std::int64_t> level, int repeat,
                      const runner_options& options);

/// The text with "<cufault>" in place of each path that is one of `own`, or lies in one.
std::string without_own_paths(std::string_view text, const std::vector<std::filesystem::path>& own);

/// What a record says of an arm before any trial.
arm_result result_of(const failure_case& c, const arm& a);

/// Why no trial of the arm can be started here; empty if one can.
std::string why_not_run(const arm& a, const runner_options& options);

/// Runs all trials of an arm: its level range with refinement, its repeats. A trial during which another process moved device memory is
/// run again, three times at most, and one that ran out of time outside of an observed call or in a row of a table, once; only the last one counts. An arm that needs a GPU where there is
/// none gets one not_provoked observation with the reason; so does one that takes a second pair. Observations are sorted by level. A level range's edge
/// is added to the first observation's measurements as "largest failing" and "smallest succeeding". The edge
/// is between the highest failing level and the level above it, if that succeeds; a level fails if any of its
/// repeats does. Refinement ends early where a trial is not comparable; that trial is kept, as any other.
/// Throws interrupted.
arm_result run_arm(const failure_case& c, const arm& a, const runner_options& options);

}  // namespace cufault
