// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Internal interface between the parts of libcufault.so. calls.cpp explains how a call passes through it.
#pragma once

#include "harness/injector/rules.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#define CUFAULT_EXPORTED extern "C" __attribute__((visibility("default")))

struct call_frame;

namespace cufault::injector {

struct known_library;

/// A rule, and how often it held and acted.
struct active_rule {
  rule what;
  unsigned number = 0;       ///< its place among the rules, from 0
  bool here = true;          ///< it is for this process
  std::uint64_t stream = 0;  ///< of random numbers: no two rules that are in effect have the same
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> drawn{0};  ///< by a rule of some probability: how often it was to act
  std::atomic<std::uint64_t> acted{0};
  std::uint64_t held_by_parent = 0, acted_in_parent = 0;  ///< of a forked child: before it began
  std::atomic<std::uint32_t> calls_in_flight{0};          ///< that will read it when the driver is done
  std::unordered_set<std::uint64_t> stacks;  ///< it held for; to be used with the state's mutex held
};
struct active_rules {
  std::vector<std::unique_ptr<active_rule>> all;
  std::vector<active_rule*> host;  ///< those of functions of the host
  bool log_environment = false;
};
/// The rules now in effect; null before they were first read. Read them with the state's mutex held, or while a reading_rules lives.
const active_rules* current_rules();
/// True if the rule acts on the n-th call for which it holds.
bool acts_now(active_rule& r, std::uint64_t n);
void count_injection(active_rule& r);
/// What the process starts does not preload this library.
void count_removed_preload();
/// Number of injections of this process so far.
std::uint64_t all_injections();
enum class counts_of_rules : std::uint8_t {
  begin_anew,
  go_on
};  ///< go_on: of those that held before, word by word
/// Puts the rules into effect. Throws input_error if they need libcufault_host.so and it is not loaded.
void replace_rules(const rule_set& rules, counts_of_rules counts);

/// While an object lives, no rule applies to driver calls and allocations of this thread.
class exempt_from_rules {
 public:
  exempt_from_rules();
  ~exempt_from_rules();
  exempt_from_rules(const exempt_from_rules&) = delete;
  exempt_from_rules& operator=(const exempt_from_rules&) = delete;
  static bool now();

 private:
  int errno_;
};

/// Path of this process's program; "" if the system does not tell. Never freed.
const char* program_path();
/// The last component of a path.
const char* file_name(const char* path);
/// A loaded file, and the offset of an address from its beginning.
struct module_place {
  const char* path = nullptr;  ///< null: no file is loaded there; the program's own name for the program
  const void* begin = nullptr;
  std::uint64_t offset = 0;
};
module_place place_of(const void* address);
/// Name of the library that contains the address, e.g. "libcublasLt.so.13"; else the name of the program, or "(unloaded)". Never freed.
const char* library_at(const void* address);
/// The function of `library` (as library_at() names it) whose call returns to this address; null if the file does not export it. Never
/// freed.
const char* symbol_at(const void* address, const char* library);
unsigned this_thread_number();

// ---- calls.cpp: one call, before and after the driver ----

enum class next_step : std::uint8_t {
  answer,  ///< `result` is what the caller gets
  jump,    ///< to `real`: nothing comes after
  call     ///< `real`, and then end_call
};
/// A call in flight. Members must need no destructor: the thread may be cancelled inside the driver.
struct pending_call {
  next_step next = next_step::jump;
  std::int64_t result = 0;
  void* real = nullptr;
  std::uint32_t slot = 0;
  call_facts facts{};
  active_rule* behind = nullptr;  ///< it comes after the call
  std::uint64_t ordinal = 0;      ///< of `behind`
  active_rule* logged = nullptr;  ///< the call is told when it is over
  std::uint64_t logged_ordinal = 0;
  std::uint64_t began = 0;     ///< nanoseconds
  std::uint64_t claim = 0;     ///< of a budget
  std::uint64_t released = 0;  ///< the number of the allocation that it may free
  bool look_up = false, accounted = false, passed_on = false, watched = false, captured = false;
  std::uint32_t depth = 0;                 ///< of a watched call
  const char* passed_on_before = nullptr;  ///< the call that this one is made in, if that is being passed on
  bool claimed_before = false;             ///< whether a budget has counted that one
};
void begin_call(pending_call& call, std::uint32_t slot, call_frame* frame, bool first);
/// Returns the result that the caller gets.
std::int64_t end_call(pending_call& call, call_frame* frame, std::int64_t result);

// ---- contexts.cpp ----

/// Device of the current context; nullopt without a context.
std::optional<int> current_device();
struct driver_context {
  const void* handle = nullptr;     ///< null: none
  std::optional<int> primary_of{};  ///< the device whose primary context it is
};
driver_context current_context();
/// Called after a successful call that may have ended a context, or that told which context is a device's primary context.
void context_may_have_changed(memory_role how, const std::uint64_t* arguments);
/// True if the successful call ended the device's primary context. A reset ends it, whatever state the driver reports afterwards.
bool ends_primary_context(memory_role how, int device);

/// An error that a sticky rule left in a context. Destroying the context ends it. A primary context keeps it for the life of the process,
/// as records of cudaDeviceReset show.
struct sticky_error {
  const active_rule* rule;
  std::uint64_t ordinal;  ///< of the call that it acted on
};
/// Makes all later calls in the current context fail. Returns that context, or null without one.
const void* lose_current_context(const active_rule& r, std::uint64_t ordinal);
/// True if any context has a sticky error: then every call goes through begin_call.
bool sticky_errors_exist();
/// Sticky error of the current context, and that context. The error's rule lives as long as a reading_rules does.
std::optional<sticky_error> sticky_error_here(const void*& context);

// ---- call_stack.cpp ----

/// Hash of the five innermost callers: the file of each (build ID, else name) and its offset there. Equal in all runs of the same files,
/// stripped or not. The walk uses unwind tables and ends at a caller without one.
std::uint64_t hash_of_stack(const void* caller);
/// The five innermost callers, the innermost first; fewer where the walk ends.
std::vector<const void*> callers_of(const void* caller);
/// True if the rule holds for this call stack for the first time. After 65,536 stacks always false; a message says so once.
bool is_first_of_stack(active_rule& r, std::uint64_t stack);

// ---- counts.cpp ----

void begin_counts();
/// Creates the process's file of counts if the environment asks for one.
void begin_counts_of_process();
void begin_thread();
/// The same for a forked child, which has one thread.
void begin_counts_of_child();
void name_in_counts(std::uint32_t slot);

// Counts are reported without a lock or an allocation: a signal handler may call _exit inside malloc.

/// A function as one library resolved it, and the number of its calls in this process.
struct call_count {
  const char* function;
  const char *function_json, *resolver_json;  ///< quoted
  std::uint64_t calls;
};
std::uint32_t all_slots();
call_count count_of(std::uint32_t slot);
/// A driver function that was resolved but has no thunk.
struct unwrapped_name {
  std::string json;  ///< quoted
  const unwrapped_name* next;
};
const unwrapped_name* unwrapped_names();
/// False in a child of vfork, which runs in its parent's memory.
bool counts_are_of_this_process();
/// From now on each call is reported when it is made (report_late_call).
void tell_each_call();
bool each_call_is_told();

// ---- environment.cpp ----

/// Value of the variable in environ, read without getenv.
const char* environment(const char* variable);
/// True if a program that starts with these variables loads this library.
bool preloads_injector(char* const* variables);
/// The settings of the environment when the process began; later changes of environ have no effect, those by log_to() do.
struct settings {
  std::string log;     ///< CUFAULT_LOG, absolute; empty: standard error
  std::string rules;   ///< CUFAULT_RULES
  std::string fail;    ///< CUFAULT_FAIL
  std::string counts;  ///< CUFAULT_COUNTS, a folder: absolute; see counts.hpp
  std::string watch;   ///< CUFAULT_WATCH, a folder: absolute; see watch.cpp
  /// CUFAULT_CAPTURE, a folder: absolute; see capture.cpp
  std::string capture;
  bool strict = false;
};
const settings& asked_for();
void log_to(const char* file);
/// Puts other rules into effect, as if the environment had begun with them, here and in programs that this process starts.
void begin_anew(const std::string& rules, const std::string& fail);
/// Reads the environment before the first call. Another library's constructor may make that call before this library's constructor runs.
void read_environment();
/// Starts a thread that reads the rules again when their file changes. Called only in processes that look up the driver or a library's
/// functions: a shell in between gets no thread.
void watch_rules();
/// The same for processes that start with a library that rules can name. Such a process may never call the driver.
void watch_rules_beside_libraries();

// ---- fork_server.cpp ----

/// Where a sweep asks for it, in its program's first call that is seen: answers requests for children, and returns in each child.
void serve_forks();

// ---- watch.cpp: calls in flight, and those that failed ----

/// True if the environment asked for it.
bool watching();
/// Registers for the driver's error log, once the driver is loaded.
void watch_driver();
/// Makes a forked child write its own lines.
void begin_watch_of_child();
/// Does what cufault_watched does in thunks.S, for calls that go through begin_call. Returns the depth.
std::uint32_t begin_watched(std::uint32_t slot);
void end_watched(std::uint32_t slot, std::uint32_t depth, std::int32_t result);

// ---- capture.cpp: the first call of cuBLAS or cuBLASLt that fails ----

/// True if the environment asks that calls of this library are captured.
bool captures(const known_library* of);
/// Around each such call.
void begin_captured(std::uint32_t slot, const call_frame& frame);
void end_captured(std::uint32_t slot, const call_frame& frame, int result);

// ---- log.cpp: JSON lines to CUFAULT_LOG, or to standard error ----

/// Writes the first line of a log: process, program, version, rules, and what is not seen.
void report_beginning();
/// What the driver really returned, for calls reported after they were made.
struct call_result {
  int code;
  std::uint64_t began;  ///< nanoseconds of CLOCK_MONOTONIC
  std::uint64_t nanoseconds;
};
/// What a rule changed in a result.
struct corrupted {
  std::uint64_t row = 0, column = 0, elements = 0;  ///< the first element, by column, and how many
  std::uint64_t was = 0, is = 0;                    ///< bits of the first
};
/// Reports an injection as one line in one write.
void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                      const call_result* result = nullptr, const corrupted* changed = nullptr);
/// Reports a call that failed because its context has a sticky error.
void report_sticky(const sticky_error& error, const call_facts& call);
/// Reports that a rule should have acted, and why it could not: the driver's code, say.
void report_no_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                         std::string_view because);
/// Writes the counts once in a process. Neither locks nor allocates.
void report_counts();
/// Once in a process: what it starts does not load this library. Neither locks nor allocates.
void report_removed_preload();
void report_late_call(std::uint32_t slot);
void report_environment_look_up(const char* library, const char* variable);
void say(std::string_view what);  ///< "cufault: …" to standard error

// ---- ends.cpp ----

void find_next_ends();

// ---- host_rules.cpp ----

/// Without libcufault_host.so no rule for a host function can act, and look-ups of variables are not seen.
bool host_library_is_loaded();
void want_host_calls(const active_rules& rules);

// ---- memory.cpp: budgets ----

/// Puts these budgets into effect. Allocations under earlier budgets count against each new budget that holds for them.
void set_budgets(const std::vector<active_rule*>& budgets);
/// True if a budget was ever set: from then on releases are tracked.
bool budgets_in_use();
/// Result of asking all budgets that hold for an allocation. Accepted bytes are taken at once.
struct budget_claim {
  std::uint64_t number = 0;           ///< 0: no budget holds for it, or it is refused
  active_rule* refused_by = nullptr;  ///< null: let through
};
budget_claim claim_of(const call_facts& call, memory_role how);
/// Completes a claim after the allocation succeeded or failed. `arguments`: those of the call.
void complete_claim(std::uint64_t number, memory_role how, bool succeeded, const std::uint64_t* arguments);
/// Called before a call that may end an allocation. Returns the allocation's number, since its address may be reused after the call; 0 if
/// no budget counted it.
std::uint64_t budgeted_allocation_at(memory_role how, const std::uint64_t* arguments);
/// Called after such a call succeeded.
void account_for_released_memory(memory_role how, const std::uint64_t* arguments, std::uint64_t number);
/// Number of free bytes that cuMemGetInfo reports to this caller.
std::uint64_t budget_left(const call_facts& asker, std::uint64_t really_free);
void hold_budgets_for_fork();
void go_on_with_budgets();

// ---- kernels.cpp ----

/// Starts a kernel in the current context that traps or fails an assertion. Returns the driver's code.
int start_faulty_kernel(bool trap);
/// The driver's function of that name; null without a driver.
void* driver_function_at(const char* name);
/// The same with its type. `older`: a name of older drivers.
template <class Function>
Function* driver_entry(const char* name, const char* older = nullptr) {
  void* found = driver_function_at(name);
  if (found == nullptr && older != nullptr) found = driver_function_at(older);
  return reinterpret_cast<Function*>(found);
}

}  // namespace cufault::injector
