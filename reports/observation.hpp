// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What an arm is for. Decides how its observation is named by the judge.
enum class arm_kind { control, fault, remedy, dead_end };

/// How a trial's process ended. The first three are observations about the library under test; the others
/// say that there is nothing to compare.
enum class outcome {
  completed,       ///< the body ran to its end and the process exited with 0
  crashed,         ///< ended by a signal, or by exit() from inside an observed call
  timed_out,       ///< the watchdog ended it
  not_provoked,    ///< a precondition could not be reached, or another process moved memory meanwhile
  harness_failed,  ///< set-up failed, the channel was garbled or cut short: nothing can be concluded
};

/// One observed call, in the order of the trial. `status` is a status name of the library
/// ("CUBLAS_STATUS_ALLOC_FAILED", "cudaSuccess", "CUDA_ERROR_..."), "RIGHT_NUMBERS" or "WRONG_NUMBERS" for a
/// checked product, and empty for a call that never returned.
struct call_record {
  std::string text;           ///< as written in the case: "cublasCreate(&handle)"
  std::string status;         ///< see above
  int value = 0;              ///< numeric status
  std::string detail;         ///< what else is compared: "parameter 8; C untouched"; mostly empty
  std::string last_error;     ///< cudaPeekAtLastError() after the call, by name; empty if not read
  double milliseconds = 0;    ///< wall time inside the call
  bool after_remedy = false;  ///< made after the remedy or dead end was applied
};

struct memory_sample {
  std::string at;  ///< "before", "squeezed", "after cublasCreate", ...
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// A number that the case measured. Kept and shown, never part of the signature.
struct measurement {
  std::string name;  ///< "handles created"
  double value = 0;
  std::string unit;  ///< "bytes", "handles", "ms"; empty for a bare number
};

/// What an arm found out about a claim that no status can tell (claims of kind X, and halves of others).
struct finding {
  std::string claim;  ///< "S0-6"
  bool holds = false;
  std::string why;  ///< one line with the figures behind it
};

/// All that one trial saw. Plain data.
struct observation {
  std::optional<std::int64_t> rung;  ///< value of the ladder parameter, where the arm has one
  bool refined = false;              ///< a rung between the stated ones, tried to measure the edge
  std::vector<call_record> calls;
  std::string applied;  ///< the remedy or dead end that was applied, in words; empty if none was
  outcome ended = outcome::harness_failed;
  std::string why;        ///< reason for not_provoked and harness_failed; signal name for crashed
  std::string in_flight;  ///< text of the call that had not returned when the process ended
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string context =
      "unchecked";  ///< after the body: "usable", "damaged", "none"; "unchecked" where nobody lived to look
  std::vector<memory_sample> memory;
  std::vector<measurement> measurements;
  std::vector<finding> findings;
  std::vector<std::string> library_log;  ///< lines that cuBLAS and cuBLASLt logged
  std::string stdout_text, stderr_text;  ///< kept aside, bounded by the runner
  double milliseconds = 0;               ///< process start to reaped
};

/// One call as it is compared: function name, status, detail.
struct step {
  std::string call;      ///< "cublasCreate"
  std::string status;    ///< "CUBLAS_STATUS_ALLOC_FAILED", "never returned"
  std::string detail{};  ///< as in call_record
  friend bool operator==(const step&, const step&) = default;
};

/// The part of an observation that is compared. Holds no address, byte count, time or device name.
struct signature {
  std::vector<step> fault;  ///< observed calls before the remedy or dead end was applied
  std::vector<step> after;  ///< observed calls after it; empty where nothing was applied
  bool applied = false;     ///< whether a remedy or dead end was applied
  std::string outcome;      ///< "completed", "crashed: SIGSEGV in cublasDestroy", "timed out in cublasCreate"
  std::string context;      ///< as in observation
  std::string numbers;      ///< "right", "wrong" or "unchecked", over all checked products
  friend bool operator==(const signature&, const signature&) = default;
};

/// "cublasCreate(&handle)" -> "cublasCreate"; text without a parenthesis is returned whole.
std::string function_of(std::string_view call_text);

/// True for "CUBLAS_STATUS_SUCCESS", "cudaSuccess", "CUDA_SUCCESS", "RIGHT_NUMBERS", "LOADED", and for what a case itself
/// finds to be as it should: names that end in "_AS_ASKED".
bool is_success(std::string_view status);

/// The steps in which two signatures differ, as "call: expected ..., seen ..."; empty if they are not lists of the
/// same calls.
std::vector<std::string> differing_steps(const signature& expected, const signature& seen);

/// Signature of one trial. Of a detail that says what a kernel died of at a wild address, only that it did. Precondition: comparable(o).
signature signature_of(const observation& o);

/// True if the observation can be compared: completed, crashed, or hung.
bool comparable(const observation& o);
/// Timed out, but neither in an observed call nor while it ended: the machine was busy, or the time too short.
bool ran_out_of_time(const observation& o);
/// For people. Precondition: not comparable(o).
std::string why_not_comparable(const observation& o);

/// Signatures of all trials of one arm: neighbours that are equal are one entry, so that a ladder of sizes is
/// the list of its plateaus from the lowest rung to the highest, and repeated equal trials are one entry.
/// Refined rungs are left out, since where they lie follows the edge, which may move by a byte between two
/// runs; but not one that crashed, hung or computed wrong numbers. Precondition: every observation is
/// comparable.
std::vector<signature> signatures_of(const std::vector<observation>& trials);

/// Did the work that counts fail? With a remedy applied that is every step in `after`, else every step in
/// `fault`; a crash, a hang, wrong numbers or a damaged context fail too. Wrong numbers that were seen before
/// the remedy do not count, and a remedy after which nothing was tried has not shown that it helps: it fails.
/// So does one on a GPU after which no right numbers were seen: cleared means correct.
bool failed(const signature& s);

/// 0: all succeeded; 1: a status other than success; 2: wrong numbers, damaged context, hang or crash.
int severity(const signature& s);

/// One line for people: "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; then cublasCreate: CUBLAS_STATUS_SUCCESS,
/// ..."
std::string describe(const signature& s);
/// Plateaus joined by " | ".
std::string describe(const std::vector<signature>& plateaus);

std::string to_string(arm_kind k);
std::string to_string(outcome o);

void to_json(nlohmann::json& j, const observation& o);
void to_json(nlohmann::json& j, const signature& s);

class json_cursor;
observation observation_from(const json_cursor& at);  ///< throws input_error with file, line and field
signature signature_from(const json_cursor& at);      ///< likewise
arm_kind arm_kind_from(const json_cursor& at);        ///< likewise

}  // namespace cufault
