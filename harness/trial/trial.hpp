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

/// State of the context in a process that ran rows of a table. Unknown if the process died.
enum class context_state { unknown, no_context, usable, damaged };
/// Combined state as in observation: damaged if one is, else usable if one is, else unchecked if a process died; "" without a context. A
/// context made afterwards would say nothing about theirs.
std::string context_of(std::span<const context_state> processes);

/// One execution of an arm, in its own process or after others in one (arm::shares_process); trial::current() is the latest. Sends
/// everything to the parent at once (harness/model/frame.hpp).
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
  /// Makes this the last trial of its process, for this reason. No effect in a process of its own.
  void share_no_further(std::string why) { shares_no_further_ = std::move(why); }
  [[nodiscard]] const std::string& shares_no_further() const { return shares_no_further_; }
  [[nodiscard]] bool needs_gpu() const { return arm_.needs == need::gpu; }
  [[nodiscard]] int compute_capability() const;  ///< 90 on 9.0; throws setup_failed

  /// Creates the primary context of the trial's device, loads every kernel of cufault, and proves right numbers. Throws setup_failed if it
  /// cannot. Call it before anything fills the device.
  void open_context();

  /// Later calls belong to the remedy or dead end with this text: "free the memory, create again".
  void apply(std::string_view text);

  void sample(std::string_view at);  ///< free and total device memory now; needs a context
  void measure(std::string_view name, double value, std::string_view unit = "");
  /// Records a text for people and for the rules of claims, under a name such as "cudaGetErrorString". Keeps the first 4096 bytes.
  void note(std::string_view name, std::string_view text);

  /// Continues the arm in a new process at the next stage, with changes to the environment (an empty value unsets). Returns when that
  /// process has ended; the body must return then.
  void continue_in_new_process(const std::map<std::string, std::string>& environment = {});

  /// The same, but the new process replaces this one and has none of its memory or descriptors. Does not return.
  [[noreturn]] void continue_in_its_place();

  /// Runs `child` in a forked process, which may observe; returns when it has ended. A crash of it counts as the trial's.
  void in_forked_child(const std::function<void()>& child);
  /// Runs `child` in several processes in parallel; each gets its number, from 0. They must not observe: their calls would mix.
  void in_forked_children(int count, const std::function<void(int)>& child);

  /// Runs rows 0 to `rows` - 1 of a table. Each row is an observed call that waits for what it started. Rows run in forked processes; this
  /// process must not have used CUDA. Rows share a process while it stays undamaged; `set_up` prepares it and returns the function that
  /// runs a row. A row that ends its process, or has a call longer than `patience`, has that as its result. After a row that damages the
  /// context, a new process continues. Returns the results in order: name of the last status, "crashed: SIGSEGV", "timed out"; "" for rows
  /// not reached, because set_up or a row threw. Throws out_of_time if set_up, or a row between calls, takes longer than 3 * `patience`.
  /// The trial's context is then context_of() these processes, unless it opens one itself.
  using row_function = std::function<void(std::size_t)>;
  std::vector<std::string> for_each_row(std::size_t rows, const std::function<row_function()>& set_up,
                                        std::chrono::milliseconds patience = std::chrono::seconds(10));

  /// The same for rows that observe nothing and write their findings to shared memory; the whole row counts as the call. If a row returns
  /// false, a new process continues. Returns how each row ended: "returned", "crashed: SIGSEGV", "timed out"; "" for rows not reached.
  using unobserved_row_function = std::function<bool(std::size_t)>;
  std::vector<std::string> for_each_unobserved_row(
      std::size_t rows, const std::function<unobserved_row_function()>& set_up,
      std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// Records a complete row of a sweep.
  void swept(const step_name& operation, const status_record& status, double milliseconds,
             const swept_calls& calls);

  /// Calls the listener for each message that cuBLASLt logs, in any thread, one at a time; level 1 is an error. The first hundred messages
  /// of a trial are recorded anyway.
  using log_listener = std::function<void(int level, std::string_view message)>;
  void on_library_log(log_listener listener);

  /// Ends trial and process like a return from main, with exit handlers and static destructors: their calls are still observed. Does not
  /// return.
  [[noreturn]] void end_through_exit();

  /// A folder of this trial, empty at its start and removed after its end, even after a crash.
  [[nodiscard]] std::filesystem::path scratch() const;
  /// The pair of libraries of the trial, and a second one (CUFAULT_OTHER_CUBLAS, a folder as made by ci/fetch-cublas). Only arms with
  /// other_cublas may use the second, and run only if it is given.
  [[nodiscard]] const cublas_paths& libraries() const { return options_.libraries; }
  [[nodiscard]] static cublas_paths other_libraries();

  /// Used by the macros.
  void begin_call(const step_name& name);  ///< throws setup_failed for a name that is in no list
  void end_call(const status_record& status, double milliseconds);
  /// The call returned this; its proof begins and lasts until end_call(). If the process ends in between, it did not die in the call.
  void call_returned(const status_record& status, double milliseconds);
  void withdraw_call();  ///< the call that began has returned, and is no part of the observation
  void library_logged(int level, std::string_view function, std::string_view message);  ///< from any thread

  static void after_exit_handlers();  ///< the last thing in the process

  /// Runs the body with set-up and checks; returns the process's exit code. Called once per trial in a shared process.
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
  step_name in_call_;  // the latest one
  trial_options options_;
  std::string shares_no_further_;
  bool opened_ = false;           // open_context() succeeded
  struct progress;                // of the process that runs rows, in shared memory
  progress* progress_ = nullptr;  // null outside for_each_row()
  std::string context_of_rows_;   // context_of() the last table's processes; "" without one
  bool continued_ = false;
  int exit_code_of_next_ = 0;
  bool ends_through_exit_ = false;
  std::atomic<int> logged_{0};
  std::mutex hearing_;
  log_listener listener_;
  std::atomic<bool> over_{false};  // drops messages of the library from exit handlers
};

/// The next seed for random data, from the trial's own sequence.
std::uint64_t fresh_seed();

}  // namespace cufault
