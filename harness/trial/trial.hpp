// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/binding/cublas_binding.hpp"
#include "harness/model/case.hpp"
#include "harness/trial/status_record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

struct trial_options {
  std::optional<std::int64_t> level;
  std::uint64_t seed = 0;
  int stage = 0;  ///< counts the processes that continue_in_new_process() started
  int device = 0;
  cublas_paths libraries;
  bool shares_process = false;  ///< others come before and after it in its process
};

/// What a process that ran rows of a table left. Unknown if the process died.
enum class context_state { unknown, no_context, usable, damaged };
/// As in observation: damaged if one is, else usable if one is, else unchecked if a process died; empty where there was none. One made
/// afterwards, only to be proved, would say nothing of theirs.
std::string context_of(std::span<const context_state> processes);

/// One execution of an arm, in a process of its own, or one after another in a process (arm::shares_process): trial::current() is the
/// latest. Everything it is told goes to the parent at once (harness/model/frame.hpp).
class trial {
 public:
  trial(const arm& a, trial_options options);
  ~trial() = delete;
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;
  static trial& current();

  [[nodiscard]] std::int64_t level() const;  ///< value of the level range; throws setup_failed without one
  [[nodiscard]] int stage() const { return options_.stage; }
  [[nodiscard]] int device() const { return options_.device; }
  [[nodiscard]] bool shares_process() const { return options_.shares_process; }
  /// No other trial is to come after it in its process, and why. Without effect in a process of its own.
  void share_no_further(std::string why) { shares_no_further_ = std::move(why); }
  [[nodiscard]] const std::string& shares_no_further() const { return shares_no_further_; }
  [[nodiscard]] bool needs_gpu() const { return arm_.needs == need::gpu; }
  [[nodiscard]] int compute_capability() const;  ///< 90 on 9.0; throws setup_failed

  /// Creates the primary context of the trial's device, loads every kernel of ours, and proves right numbers.
  /// Throws setup_failed if it cannot. Call it before anything fills the device.
  void open_context();

  /// From here on the calls belong to the remedy or the dead end, in words: "free the memory, create again".
  void apply(std::string_view text);

  void sample(std::string_view at);  ///< free and total device memory now; needs a context
  void measure(std::string_view name, double value, std::string_view unit = "");
  /// A text that was read or told, for people and for the rules of claims: "cudaGetErrorString". The first 4096 bytes are kept.
  void note(std::string_view name, std::string_view text);

  /// Goes on with the same arm in a new process, at the next stage, with changes to the environment (an empty
  /// value unsets). Returns when it has ended; the body must return then.
  void continue_in_new_process(const std::map<std::string, std::string>& environment = {});

  /// Likewise, but this process ends first: the new one takes its place, and has none of its memory or descriptors. Does not return.
  [[noreturn]] void continue_in_its_place();

  /// Runs `child` in a process forked from this one, which may observe; returns when it has ended. Its crash
  /// is the trial's.
  void in_forked_child(const std::function<void()>& child);
  /// Several such processes side by side, each given its number, from 0. What they observe would get mixed up.
  void in_forked_children(int count, const std::function<void(int)>& child);

  /// Runs rows 0 to `rows` - 1 of a table, each an observed call that waits for what it started, in processes forked from this one,
  /// which must not have touched CUDA. As many as survive share a process, made ready by `set_up`, which returns what runs a row.
  /// Where a row ends its process, or a call in it lasts longer than `patience`, that is what the call came to; where it damages the
  /// context, too, the rows after it go on in a new process. Returns what each came to, in order: the name of its last status,
  /// "crashed: SIGSEGV", "timed out"; empty for rows that were not reached, because setting up or a row threw. Throws out_of_time where
  /// set_up, or what a row does between calls, lasts longer than 3 * `patience`: opening a context takes its time where many others do.
  /// Unless the trial opens a context itself, what is said of its context is context_of() what these processes left.
  using row_function = std::function<void(std::size_t)>;
  std::vector<std::string> for_each_row(std::size_t rows, const std::function<row_function()>& set_up,
                                        std::chrono::milliseconds patience = std::chrono::seconds(10));

  /// The same for rows that observe nothing, where the whole row is the call: what they find out they leave in memory that is shared with their process. A row that
  /// returns false spoiled its process, and the rows after it go on in a new one. Returns what became of each row's process in it:
  /// "returned", "crashed: SIGSEGV", "timed out"; empty for rows that were not reached.
  using unobserved_row_function = std::function<bool(std::size_t)>;
  std::vector<std::string> for_each_unobserved_row(
      std::size_t rows, const std::function<unobserved_row_function()>& set_up,
      std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// A row of a sweep, complete.
  void swept(const step_name& operation, const status_record& status, double milliseconds,
             const swept_calls& calls);

  /// Hears what cuBLASLt logs from here on, in any thread, one message at a time; level 1 is an error. The first hundred messages of a
  /// trial are recorded whether anybody listens or not.
  using log_listener = std::function<void(int level, std::string_view message)>;
  void on_library_log(log_listener listener);

  /// Ends the trial and the process as returning from main would, with whatever exit handlers and static
  /// destructors there are: what they observe still counts. Does not return.
  [[noreturn]] void end_through_exit();

  /// A folder of this trial's own, empty at its start and removed after its end, also if it crashes.
  [[nodiscard]] std::filesystem::path scratch() const;
  /// The pair that the trial was told to use, and a second one (CUFAULT_OTHER_CUBLAS, a folder as ci/fetch-cublas
  /// leaves it), for arms that say other_cublas: they run only where it was given.
  [[nodiscard]] const cublas_paths& libraries() const { return options_.libraries; }
  [[nodiscard]] static cublas_paths other_libraries();

  /// The macros' ends.
  void begin_call(const step_name& name);  ///< throws setup_failed for a name that is in no list
  void end_call(const status_record& status, double milliseconds);
  /// The call returned so, and its proof begins, which end_call() ends: a process that ends before did not die in the call.
  void call_returned(const status_record& status, double milliseconds);
  void withdraw_call();  ///< the call that began has returned, and is no part of the observation
  void library_logged(int level, std::string_view function, std::string_view message);  ///< from any thread

  static void after_exit_handlers();  ///< the last thing in the process

  /// Runs the body and everything round it; the process's exit code. Where trials share a process: again for each.
  static int run(const arm& a, const trial_options& options);

 private:
  void send(const nlohmann::ordered_json& frame);
  void send_status(const char* frame_type, const status_record& status, const char* last_error,
                   double milliseconds);
  void send_end(const status_record& status, const char* last_error, double milliseconds);
  std::vector<std::string> in_processes(std::size_t rows,
                                        const std::function<unobserved_row_function()>& set_up,
                                        std::chrono::milliseconds patience, bool observing);
  std::string wait_for_rows(pid_t child, std::chrono::milliseconds patience);
  [[nodiscard]] std::vector<std::string> words_of_next(pid_t parent) const;
  void require_own_process(const char* what) const;
  void run_body();
  void tell_exceptions(const std::function<void()>& work);
  std::string probe_context();
  void report_context();
  void report_done();
  const arm& arm_;
  step_name in_call_;  // the last that began
  trial_options options_;
  std::string shares_no_further_;
  bool opened_ = false;           // open_context() succeeded
  struct progress;                // of the process that runs rows, shared with this one
  progress* progress_ = nullptr;  // null outside of for_each_row()
  std::string context_of_rows_;   // what the last table's processes left: context_of(); empty without one
  bool continued_ = false;
  int exit_code_of_next_ = 0;
  bool ends_through_exit_ = false;
  std::atomic<int> logged_{0};
  std::mutex hearing_;
  log_listener listener_;
  std::atomic<bool> over_{false};  // what the library logs from an exit handler comes too late to be told
};

/// Seeds for random data: one after the other, from the trial's own.
std::uint64_t fresh_seed();

}  // namespace cufault
