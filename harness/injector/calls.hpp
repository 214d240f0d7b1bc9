// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The parts of libcufault.so among themselves. See calls.cpp for the way of a call.
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
/// Those now in effect: to be read with the state's mutex held, or while a reading_rules lives. Null before anything here was made ready.
const active_rules* current_rules();
/// Whether it acts on the n-th call that it holds for.
bool acts_now(active_rule& r, std::uint64_t n);
void count_injection(active_rule& r);
/// In this process, so far.
std::uint64_t all_injections();
enum class counts_of_rules : std::uint8_t {
  begin_anew,
  go_on
};  ///< go_on: of those that held before, word by word
/// Makes them hold. Throws input_error where libcufault_host.so would have to be there for them.
void replace_rules(const rule_set& rules, counts_of_rules counts);

/// While it lives, this thread's own driver calls and allocations are left alone.
class left_alone {
 public:
  left_alone();
  ~left_alone();
  left_alone(const left_alone&) = delete;
  left_alone& operator=(const left_alone&) = delete;
  static bool now();

 private:
  int errno_;
};

/// Of the program of this process; "" where the system does not say. Lasts.
const char* program_path();
/// The last part of a path.
const char* file_name(const char* path);
/// A loaded file, and how far behind its beginning an address in it is.
struct module_place {
  const char* path = nullptr;  ///< null: no file is loaded there; the program's own name for the program
  const void* begin = nullptr;
  std::uint64_t offset = 0;
};
module_place place_of(const void* address);
/// "libcublasLt.so.13" of an address in it; the program's own name; "(unloaded)". Lasts.
const char* library_at(const void* address);
/// The function with the call that returns to this address in `library`, as library_at() gives it; null if its file does not export it. Lasts.
const char* symbol_at(const void* address, const char* library);
unsigned this_thread_number();

// ---- calls.cpp: one call, before and after the driver ----

enum class next_step : std::uint8_t {
  answer,  ///< `result` is what the caller gets
  jump,    ///< to `real`: nothing comes after
  call     ///< `real`, and then end_call
};
/// In flight. Nothing in it needs a destructor: the thread may be cancelled inside of the driver.
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
  bool look_up = false, accounted = false, passed_on = false, watched = false;
  std::uint32_t depth = 0;                 ///< of a watched call
  const char* passed_on_before = nullptr;  ///< the call that this one is made in, if that is being passed on
  bool claimed_before = false;             ///< whether a budget has counted that one
};
void begin_call(pending_call& call, std::uint32_t slot, call_frame* frame, bool first);
/// Returns what the caller gets.
std::int64_t end_call(pending_call& call, call_frame* frame, std::int64_t result);

// ---- contexts.cpp ----

/// Of the current context; none without one.
std::optional<int> current_device();
struct driver_context {
  const void* handle = nullptr;     ///< null: none
  std::optional<int> primary_of{};  ///< the device whose primary context it is
};
driver_context current_context();
/// After a call that succeeded: it ended a context or may have, or told which one is a device's primary context.
void context_may_have_changed(memory_role how, const std::uint64_t* arguments);
/// Whether the call, which succeeded, ended the device's primary context. A reset ends it whatever the driver then says of its state.
bool ends_primary_context(memory_role how, int device);

/// That a sticky rule left in a context. A context that is destroyed takes it along; a device's primary context keeps it in this process, as
/// records have it of cudaDeviceReset.
struct sticky_error {
  const active_rule* rule;
  std::uint64_t ordinal;  ///< of the call that it acted on
};
/// From now on calls in the current context fail. Returns that context; null: there is none.
const void* lose_current_context(const active_rule& r, std::uint64_t ordinal);
/// Whether there is one, of any context: then every call comes to begin_call.
bool sticky_errors_exist();
/// Of the current context, which is told; its rule is there as long as a reading_rules lives.
std::optional<sticky_error> sticky_error_here(const void*& context);

// ---- call_stack.cpp ----

/// A hash of the five innermost callers, each by its file (build ID, or else name) and its offset there: the same in each run of the same
/// files, stripped or not. Walked by unwind tables: where a caller has none, those further out do not count.
std::uint64_t hash_of_stack(const void* caller);
/// Whether the rule has not held for this call stack before. Beyond 65,536 of them it never does, and that is said.
bool is_first_of_stack(active_rule& r, std::uint64_t stack);

// ---- counts.cpp ----

void begin_counts();
/// The file of counts begins now, if there is to be one.
void begin_counts_of_process();
void begin_thread();
/// In a forked child, which has one thread.
void begin_counts_of_child();
void name_in_counts(std::uint32_t slot);

// What was called so far is told without a lock or an allocation: _exit may be called by a signal handler, inside of malloc.

/// A function as one library resolved it, and the calls of it in this process.
struct call_count {
  const char* function;
  const char *function_json, *resolver_json;  ///< quoted
  std::uint64_t calls;
};
std::uint32_t all_slots();
call_count count_of(std::uint32_t slot);
/// A driver function that somebody resolved and that nothing stands in front of.
struct unwrapped_name {
  std::string json;  ///< quoted
  const unwrapped_name* next;
};
const unwrapped_name* unwrapped_names();
/// False in a child of vfork, which runs in its parent's memory.
bool counts_are_of_this_process();
/// From now on each call is told when it comes (report_late_call).
void tell_each_call();
bool each_call_is_told();

// ---- environment.cpp ----

/// The value in environ, without asking getenv.
const char* environment(const char* variable);
/// What the environment asked for when the process began, whatever it does to environ later. Those that log_to() replaced last, too.
struct settings {
  std::string log;     ///< CUFAULT_LOG, absolute; empty: standard error
  std::string rules;   ///< CUFAULT_RULES
  std::string fail;    ///< CUFAULT_FAIL
  std::string counts;  ///< CUFAULT_COUNTS, a folder: absolute; see counts.hpp
  std::string watch;   ///< CUFAULT_WATCH, a folder: absolute; see watch.cpp
  bool strict = false;
};
const settings& asked_for();
void log_to(const char* file);
/// Before the first call, whoever makes it: constructors of other libraries may come before this one's.
void read_environment();
/// Reads the rules again from now on, when their file changes. Only for processes that look for the driver or for functions of libraries, so
/// that a shell in between gets no thread.
void watch_rules();
/// Likewise for processes that start with a library that rules can be for, and may never call the driver.
void watch_rules_beside_libraries();

// ---- watch.cpp: calls in flight, and those that failed ----

/// Whether the environment asked for it.
bool watching();
/// Once the driver is loaded: its error log comes here, too.
void watch_driver();
/// In a forked child, which writes its own lines.
void begin_watch_of_child();
/// What cufault_watched does in thunks.S, for calls that come to begin_call. Returns the depth.
std::uint32_t begin_watched(std::uint32_t slot);
void end_watched(std::uint32_t slot, std::uint32_t depth, std::int32_t result);

// ---- log.cpp: JSON lines to CUFAULT_LOG, or to standard error ----

/// The first line of a log: which process, program, version and rules, and what is not seen.
void report_beginning();
/// What the driver really returned, of what is told after the call.
struct call_result {
  int code;
  std::uint64_t began;  ///< nanoseconds of CLOCK_MONOTONIC
  std::uint64_t nanoseconds;
};
/// One line, in one write.
void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                      const call_result* result = nullptr);
/// A call failed for the sticky error of its context.
void report_sticky(const sticky_error& error, const call_facts& call);
/// A rule should have acted, and the driver did not let it: `code`.
void report_no_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal, int code);
/// Once in a process. Neither locks nor allocates.
void report_counts();
void report_late_call(std::uint32_t slot);
void report_environment_look_up(const char* library, const char* variable);
void say(std::string_view what);  ///< "cufault: …" to standard error

// ---- host_rules.cpp ----

/// Without libcufault_host.so no rule for a function of the host can act, and nobody is heard asking for variables.
bool host_library_is_loaded();
void want_host_calls(const active_rules& rules);
void find_next_exit();

// ---- memory.cpp: budgets ----

/// Those that hold from now on. What earlier ones let through counts against those that hold for it.
void set_budgets(const std::vector<active_rule*>& budgets);
/// Whether there ever was one: from then on releases are looked at.
bool budgets_in_use();
/// An allocation, as the budgets that hold for it see it. What they let through is taken at once.
struct budget_claim {
  std::uint64_t number = 0;           ///< 0: no budget holds for it, or it is refused
  active_rule* refused_by = nullptr;  ///< null: let through
};
budget_claim claim_of(const call_facts& call, memory_role how);
/// What became of the allocation: `arguments` of its call.
void settle_claim(std::uint64_t number, memory_role how, bool succeeded, const std::uint64_t* arguments);
/// Before a call that may end an allocation: its number, for another one may begin at its address once it is over; 0 for none of a budget.
std::uint64_t budget_before(memory_role how, const std::uint64_t* arguments);
/// After it, where it succeeded.
void budget_after(memory_role how, const std::uint64_t* arguments, std::uint64_t number);
/// What cuMemGetInfo is to say is free.
std::uint64_t budget_left(const call_facts& asker, std::uint64_t really_free);
void hold_budgets_for_fork();
void go_on_with_budgets();

// ---- kernels.cpp ----

/// Starts a kernel that traps, or whose assertion fails, in the current context. Returns the driver's code.
int start_faulty_kernel(bool trap);
/// The driver's own function of that name; null without a driver.
void* driver_function_at(const char* name);

}  // namespace cufault::injector
