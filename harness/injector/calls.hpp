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
#include <vector>

#define CUFAULT_EXPORTED extern "C" __attribute__((visibility("default")))

namespace cufault::injector {

/// A rule, and how often it held and acted.
struct active_rule {
  rule what;
  unsigned number = 0;  ///< its place among the rules, from 0
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> acted{0};
};
/// Never freed: a call in another thread may still read what was replaced.
struct active_rules {
  std::vector<std::unique_ptr<active_rule>> all;
  std::vector<active_rule*> host;  ///< those of functions of the host
  bool log_environment = false;
};
/// Null before anything here was made ready.
const active_rules* current_rules();
void count_injection(active_rule& r);
/// In this process, so far.
std::uint64_t all_injections();
enum class counts_of_rules : std::uint8_t {
  begin_anew,
  go_on
};  ///< go_on: of those that held before, word by word
/// Makes them hold.
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

/// "libcublasLt.so.13" of an address in it; the program's own name; "(unloaded)". Lasts.
const char* library_at(const void* address);
unsigned this_thread_number();
/// The definition that a program would get were this library not there; null if there is none.
void* next_definition(const char* name);

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

// ---- environment.cpp ----

/// The value in environ, without asking getenv.
const char* environment(const char* variable);
/// What the environment asked for when the process began, whatever it does to environ later. Those that log_to() replaced last, too.
struct settings {
  std::string log;    ///< CUFAULT_LOG, absolute; empty: standard error
  std::string rules;  ///< CUFAULT_RULES
  std::string fail;   ///< CUFAULT_FAIL
  bool strict = false;
};
const settings& asked_for();
void log_to(const char* file);
/// Before the first call, whoever makes it: constructors of other libraries may come before this one's.
void read_environment();
/// Reads the rules again from now on, when their file changes. Only for processes that look for the driver, so that a shell in between
/// gets no thread.
void watch_rules();

// ---- evidence.cpp: JSON lines to CUFAULT_LOG, or to standard error ----

/// One line, in one write. `result` is what the driver really returned, for what acts after the call.
void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal, const int* result);
/// A rule should have acted, and the driver did not let it: `code`.
void report_no_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal, int code);
/// Once in a process. Neither locks nor allocates.
void report_counts();
void report_late_call(std::uint32_t slot);
void report_environment_look_up(const char* library, const char* variable);
void say(std::string_view what);  ///< "cufault: …" to standard error

// ---- memory.cpp: budgets ----

/// Those that hold from now on. What earlier ones let through counts against those that hold for it.
void set_budgets(const std::vector<active_rule*>& budgets);
/// Whether there ever was one: from then on releases are looked at.
bool budgets_in_use();
/// An allocation, as the budgets that hold for it see it. What they let through is taken at once.
class budget_claim {
 public:
  explicit budget_claim(const call_facts& call);
  [[nodiscard]] active_rule* refused_by() const { return refused_by_; }  ///< null: let through
  void succeeded(std::uint64_t address) const;
  void failed() const;

 private:
  std::uint64_t number_ = 0;
  active_rule* refused_by_ = nullptr;
};
/// The number of the allocation that begins there; 0 for none that a budget let through.
std::uint64_t budgeted_at(std::uint64_t address);
/// It is free, unless there is another one by now.
void budget_release(std::uint64_t address, std::uint64_t number);
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
