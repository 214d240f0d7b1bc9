// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/enum_names.hpp"
#include "reports/model/driver_message.hpp"
#include "reports/model/step.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class json_cursor;

/// What an arm is for. Decides how its observation is named by the judge. A diagnosis is said to show which call fails, and clears nothing.
enum class arm_kind { control, fault, remedy, dead_end, diagnosis };
CUFAULT_NAMES(arm_kind, control, fault, remedy, dead_end, diagnosis)

/// How a trial's process ended. The first three are observations about the library under test; the others
/// say that there is nothing to compare.
enum class outcome {
  completed,       ///< the body ran to its end and the process exited with 0
  crashed,         ///< ended by a signal, or by exit() from inside an observed call
  timed_out,       ///< the watchdog ended it
  not_provoked,    ///< a precondition could not be reached, or another process moved memory meanwhile
  harness_failed,  ///< set-up failed, the channel was garbled or cut short: nothing can be concluded
};
CUFAULT_NAMES(outcome, completed, crashed, timed_out, not_provoked, harness_failed)

/// Of a row of a sweep (harness/injection/sweep.hpp): the driver calls inside of the observed one that were made to fail, each alone and from a
/// fresh state. All of them came to the same, so they are one row.
struct swept_calls {
  std::string function{};  ///< "cuMemAlloc_v2"; "*" where none was to be reached
  std::string caller{};    ///< library that makes them: "libcublasLt"
  std::string phase{};     ///< the last call before them that changed something: "after cuCtxSetCurrent 2"
  std::vector<std::string> codes{};  ///< what they returned: "OUT_OF_MEMORY"
  bool once = false;                 ///< they failed once
  bool persistent = false;  ///< they, and every later call of the function until the observed call was over
  std::uint64_t calls = 0;  ///< how many of them there are
  bool reached = true;      ///< false: the operation made no such call this time, so nothing failed
  std::string
      site{};  ///< where the first one is made: 8 digits of a hash of its callers; empty in records from before sites
  std::uint64_t first =
      0;  ///< the first one among the calls of its site, from 1; without one, of this function by this library

  std::string numbers{};  ///< of a call that succeeded: RIGHT_NUMBERS or WRONG_NUMBERS
  std::string again{};    ///< what the same call returned without the fault, in the same process
  std::string handle{};   ///< what a product by the same handle came to after that
  std::string
      later{};  ///< where `again` failed: what the same call by the same handle returned once more, behind that product
  std::string afresh{};    ///< what the same call by a new handle came to, where one of these failed
  std::string ended{};     ///< "crashed: SIGSEGV", "timed out": the process, in what `ended_in` says
  std::string ended_in{};  ///< "the operation", "its check", "the same again", "a product", "a new handle"
  std::int64_t left_bytes = 0;  ///< device memory not given back with all handles, beyond what always stays
  friend bool operator==(const swept_calls&, const swept_calls&) = default;
};

/// "cuMemAlloc_v2 of libcublasLt after cuCtxSetCurrent 2: OUT_OF_MEMORY once": what was made to fail in a row.
std::string describe(const swept_calls& s);

/// One observed call, in the order of the trial.
struct call_record {
  step what{};
  std::string last_error{};            ///< cudaPeekAtLastError() after the call, by name; empty if not read
  double milliseconds = 0;             ///< wall time inside the call
  bool after_remedy = false;           ///< made after the remedy or dead end was applied
  std::optional<swept_calls> swept{};  ///< of a row of a sweep: then `what` names the operation
  /// What the driver said of it, in order; not compared. Where the driver has an error log, the first of them is why it failed.
  std::vector<driver_message> driver{};
};

struct memory_sample {
  static constexpr std::string_view context_opened = "context opened";
  std::string at{};  ///< context_opened, "squeezed", "after cublasCreate", ...
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  friend bool operator==(const memory_sample&, const memory_sample&) = default;
};

/// Less than 2 % is free.
bool nearly_full(const memory_sample& s);

/// A number that the case measured. Kept and shown; a gate compares those that compared_measurements() of the judge names, within a band.
struct measurement {
  std::string name;  ///< "handles created"
  double value = 0;
  std::string unit;  ///< "bytes", "handles", "ms"; empty for a bare number
  friend bool operator==(const measurement&, const measurement&) = default;
};

/// A text that the case was told or read. Kept for people and for the rules of claims; never compared.
struct note {
  std::string name;  ///< "cudaGetErrorString"
  std::string text;
  friend bool operator==(const note&, const note&) = default;
};

/// All that one trial saw. Plain data.
struct observation {
  std::optional<std::int64_t> level;  ///< value of the level range parameter, where the arm has one
  bool refined = false;               ///< a level between the stated ones, tried to measure the edge
  std::vector<call_record> calls;
  std::string applied;  ///< the remedy or dead end that was applied, in words; empty if none was
  outcome ended = outcome::harness_failed;
  std::string why;  ///< reason for not_provoked and harness_failed; signal name for crashed
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string gpu;  ///< hash_of() the UUID of the trial's; empty where it had none. Not kept of a stack
  std::string context =
      "unchecked";  ///< after the body: "usable", "damaged", "none"; "unchecked" if the process ended before
  std::vector<memory_sample> memory;
  std::vector<measurement> measurements;
  std::vector<note> notes;
  std::vector<std::string> library_log;  ///< lines that cuBLAS and cuBLASLt logged
  std::string stdout_text, stderr_text;  ///< kept aside, bounded by the runner
  double milliseconds = 0;               ///< process start to reaped
};

/// nullptr if it has none of that name.
const measurement* find_measurement(const observation& o, std::string_view name);
/// Whether it is a row of a sweep in which nothing was made to fail.
bool fails_nothing(const call_record& row);

/// The call that had not returned when the process ended, or nullptr.
const call_record* call_in_flight(const observation& o);

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

/// Of a status in swept_calls, which are statuses alone: whether it says success.
bool is_success_status(std::string_view status);

/// What differs, a line each: "cublasLtMatmul: EXECUTION_FAILED → INTERNAL_ERROR", then context and process. Of lists of the same calls each
/// step that differs, else the first: what follows is its consequence. Empty if the signatures are equal.
std::vector<std::string> differing_steps(const signature& before, const signature& now);
/// The same in one line, of at most five.
std::string difference(const signature& before, const signature& now);
/// Facts and other values that differ and are only noted, in one line; empty if none do.
std::string noted_difference(const std::vector<observation>& before, const std::vector<observation>& now);
/// Without the CUBLAS_STATUS_ of statuses.
std::string shortened(std::string text);

/// Whether it is a row of a sweep whose outcome differs between runs of one stack.
bool varies_between_runs(const call_record& c);

/// Signature of one trial, without rows whose outcome varies between runs. If a kernel faulted on an invalid address, the error code is not
/// compared. Precondition: comparable(o).
signature signature_of(const observation& o);

/// True if the observation can be compared: completed, crashed, or hung.
bool comparable(const observation& o);
/// Timed out, but neither in an observed call nor while it ended: the machine was busy, or the time too short.
bool ran_out_of_time(const observation& o);
/// For people. Precondition: not comparable(o).
std::string why_not_comparable(const observation& o);

/// Trials of one arm that showed the same. Of an arm with levels: trials of adjacent levels, refined levels included.
struct plateau {
  signature seen;
  std::optional<std::int64_t> first_level{}, last_level{};  ///< lowest and highest
  bool stated = true;  ///< whether it has a level that the arm states, not only refined ones
  friend bool operator==(const plateau&, const plateau&) = default;
};
/// Plateaus of an arm that does not race, from the lowest level to the highest, or in the order of its trials where it has no levels.
/// Precondition: every observation is comparable.
std::vector<plateau> plateaus_of(const std::vector<observation>& trials);

/// How far an edge between two levels may move before it counts: a tenth of the level.
inline constexpr double edge_band = 0.1;
/// The first difference between two lists of plateaus in one line, before → now; empty if they agree. Where there are levels, a signature may be seen at a level of an expected
/// plateau with it, in the gap to the next one, and edge_band beyond; and each stated expected plateau must be met.
std::string disagreement(const std::vector<plateau>& before, const std::vector<plateau>& now);

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
/// Plateaus joined by " | ", with their levels where they have some.
std::string describe(const std::vector<plateau>& plateaus);
std::string describe(const std::vector<signature>& each);

// Members, for json_fields.hpp.
template <class Fields>
void describe_fields(swept_calls& s, Fields& f) {
  f.required("function", s.function);
  f.required("caller", s.caller);
  f("phase", s.phase);
  f("codes", s.codes);
  f("once", s.once);
  f("persistent", s.persistent);
  f("calls", s.calls);
  f("reached", s.reached, true);
  f("site", s.site);
  f("first", s.first);
  f("numbers", s.numbers);
  f("again", s.again);
  f("handle", s.handle);
  f("later", s.later);
  f("afresh", s.afresh);
  f("ended", s.ended);
  f("ended_in", s.ended_in);
  f("left_bytes", s.left_bytes);
}
template <class Fields>
void describe_fields(memory_sample& m, Fields& f) {
  f.required("at", m.at);
  f.required("free", m.free_bytes);
  f.required("total", m.total_bytes);
}
template <class Fields>
void describe_fields(measurement& m, Fields& f) {
  f.required("name", m.name);
  f.required("value", m.value);
  f("unit", m.unit);
}
template <class Fields>
void describe_fields(note& n, Fields& f) {
  f.required("name", n.name);
  f.required("text", n.text);
}

/// What is kept of a stack: no GPU's name, three digits of times, those of calls only where one took 300 ms or more, each logged line once and
/// only in the log, ends of long output. A single sample of memory is kept only where nearly nothing was free: there is no other to compare it
/// with.
void shorten(observation& o);

/// Members of a call in a line: those that name it, those that say what it came to, or both.
enum class call_members { name, result, all };
nlohmann::ordered_json call_json(const call_record& c, call_members which = call_members::all);
/// Throws input_error, also for an API that is in no list. `other`: a member of the object that is no member of the call.
call_record call_from(const json_cursor& at, call_members which = call_members::all,
                      std::string_view other = {});
nlohmann::ordered_json observation_json(const observation& o);
observation observation_from(const json_cursor& at);  ///< throws input_error with file, line and field

/// Canonical text of plateaus, of which a digest is made.
std::string canonical(const std::vector<plateau>& plateaus);

}  // namespace cufault
