// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/observation.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

enum class verdict {
  ok,
  reproduced,
  cleared,
  still_fails,
  diagnosed,     // as expected
  flaky,         // as expected, at the recorded rate
  as_predicted,  // as on the nearest recorded stack, which is not this one
  undefined,     // recorded, and nothing is expected of it: nothing is compared
  changed,
  gone,
  worsened,
  remedy_broken,  // not as expected
  differs,        // not as on the nearest recorded stack, which is not this one
  unrecorded,     // nothing is recorded to compare it with: "NEW"
  absent,         // recorded, asked for, and not observed
  not_provoked,
  unresolved
};

enum class run_mode { observe, gate };
CUFAULT_NAMES(run_mode, observe, gate)

/// What a user loses by a change, the worst first. Of what is undefined behaviour nobody loses anything.
enum class loss { wrong_numbers, memory_written, crash, hang, context, status, value, undefined_behaviour };

/// run_of_trials::driver_log where trials kept what the driver said; else it is "off", or "not available" of this driver.
inline constexpr const char* driver_log_heard = "heard";

/// Where trials of an arm come from: the run of cufault that made them.
struct run_of_trials {
  std::string commit{};   ///< of cufault
  bool dirty = false;     ///< its tree differed from the commit
  std::string started{};  ///< UTC, "2026-11-21T07:27:40Z"
  std::uint64_t seed = 0;
  // Empty of runs from before these were recorded.
  std::string version{};            ///< of cufault
  std::string driver{};             ///< version
  std::string driver_log{};         ///< whether trials heard the driver's error log
  std::vector<std::string> gpus{};  ///< hashes of UUIDs: runs with an equal one were on the same GPU
  std::map<std::string, std::string> build_ids{};  ///< of the libraries under test: "cublas", "cublaslt", ...
  std::size_t trials = 0;                          ///< how many of arm_result::trials, in order
  friend bool operator==(const run_of_trials&, const run_of_trials&) = default;
};

/// An arm with what its trials saw. Below, what the judge says of it, which is not kept in records.
struct arm_result {
  std::string name{};
  arm_kind kind = arm_kind::fault;
  std::string summary{};              ///< one line: what this arm does
  std::vector<std::string> claims{};  ///< IDs of the claims it tests
  std::string against{};   ///< the fault arm that a remedy in place from the start answers; else empty
  std::string races{};     ///< why its outcome may differ from trial to trial; empty: it must not
  bool undefined = false;  ///< it is undefined behaviour: no program relies on what it comes to
  bool rate_depends_on_load = false;  ///< its rates depend on how busy the host is, and are not compared
  std::string counterpart_of{};       ///< of an injected fault: the fault arm that has it for real
  bool made_up = false;  ///< its fault is a stand-in, or injected without a natural arm; ask is_made_up()
  bool second_cublas = false;     ///< its outcome depends on the second cuBLAS that it loads
  bool any_architecture = false;  ///< the GPU cannot affect its outcome although its trials have a context
  std::vector<run_of_trials> runs{};
  std::vector<observation> trials{};
  std::string source{};  ///< "FILE:LINE" of the record that it was read from
  bool expected =
      false;  ///< of a stack: other runs are judged by it; else its outcome is undefined, and no run is judged by it

  verdict judged = verdict::unresolved;
  loss lost = loss::value;    ///< of a change
  std::string why{};          ///< one line for verdicts that need one
  std::string noted{};        ///< in one line, what differs and is no failure
  std::string expectation{};  ///< "FILE:LINE" of the recorded arm that it was judged by, if any
  std::string
      compared_with{};  ///< the recorded stack that it was judged by or predicted from: "H200, cuBLAS 13.1.0"
  bool covered = false;  ///< whether a record of this stack says what it shows
};

struct case_result {
  std::string name{};
  std::vector<arm_result> arms{};
};

/// "memory.leak/trim": the name by which records are joined.
std::string join_key(std::string_view case_name, std::string_view arm);

/// Its fault is injected or a stand-in, with or without a natural arm that it stands for.
bool is_made_up(const arm_result& arm);
/// Whether the run that made a trial heard the driver's error log; without an index: whether those of all trials did.
bool heard_driver_log(const arm_result& arm, std::size_t trial);
bool heard_driver_log(const arm_result& arm);
/// Whether it has trials and all of them can be compared.
bool observed(const arm_result& arm);
/// When the latest of its trials were made; empty if that is unknown.
std::string latest_run(const arm_result& arm);

/// A signature that an arm's trials showed, and how many of them did.
struct counted_signature {
  signature seen;
  int trials = 0;
};
/// Each signature of the trials once, the most frequent first.
std::vector<counted_signature> distinct_signatures(const std::vector<observation>& trials);
/// Of trials: how many can be compared, and in how many of these the work that counts failed.
struct failure_count {
  std::int64_t compared = 0, failing = 0;
  [[nodiscard]] bool none() const { return compared > 0 && failing == 0; }
};
failure_count count_failures(const std::vector<observation>& trials);
/// arm_result::races of an arm whose trials differed, though nothing says why they may: it has a rate from then on.
inline constexpr const char* trials_differed = "its trials differed";
/// Whether trials can be added to its own: it has no levels, and is no sweep.
bool takes_further_trials(const arm_result& arm);
/// Of an arm that takes further trials: sets `races` where it is empty and the trials have several signatures.
void note_differing_trials(arm_result& arm);
/// Adds the trials of the same arm of another record to those of `to`, which may be empty. `to` races if one of them
/// does.
void pool(arm_result& to, const arm_result& more);
/// What an arm is compared by: its plateaus or, where it races, each signature once. Precondition: observed().
std::vector<plateau> arm_plateaus(const arm_result& arm);
/// In one line; "13 of 20: ..." where it races.
std::string describe(const arm_result& arm);

/// True for a verdict that says "as expected" or "as predicted", or that nothing is expected.
bool as_expected(verdict v);
/// True for a verdict of an arm that no record of this stack judges: none of them fails a gate.
bool is_prediction(verdict v);

std::string to_string(verdict v);  ///< "REPRODUCED", ...

}  // namespace cufault
