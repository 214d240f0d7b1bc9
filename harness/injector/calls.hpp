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
/// Makes them hold.
void replace_rules(const rule_set& rules);

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
struct call_count {
  const char *function, *library;
  std::uint64_t calls;
};
std::vector<call_count> all_counts();
/// Driver functions that somebody resolved and that nothing stands in front of.
std::vector<std::string> unwrapped_names();

// ---- environment.cpp ----

/// The value in environ, without asking getenv.
const char* environment(const char* variable);
/// Before the first call, whoever makes it: constructors of other libraries may come before this one's.
void read_environment();
/// Reads the rules again from now on, when their file changes. Only for processes that look for the driver, so that a shell in between
/// gets no thread.
void watch_rules();

// ---- evidence.cpp: JSON lines to CUFAULT_LOG, or to standard error ----

/// One line, in one write. `result` is what the driver really returned, for what acts after the call.
void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal, const int* result);
void report_counts();
void report_environment_look_up(const char* library, const char* variable);
void say(std::string_view what);  ///< "cufault: …" to standard error

// ---- memory.cpp: sizes, and the budget ----

enum class memory_role : std::uint8_t { none, allocates, allocates_host, releases, tells };
struct memory_function {
  memory_role role = memory_role::none;
  std::uint64_t (*bytes)(const std::uint64_t* arguments) = nullptr;  ///< of what allocates
};
memory_function memory_function_of(std::string_view function);
/// Whether a budget lets the allocation through; what it lets through is taken at once, and given back by failed().
class budget_claim {
 public:
  budget_claim(const active_rule& r, std::uint64_t bytes);
  [[nodiscard]] bool granted() const { return granted_; }
  void succeeded(std::uint64_t address) const;
  void failed() const;

 private:
  std::uint64_t bytes_;
  bool granted_ = false;
};
void budget_release(std::uint64_t address);
/// What cuMemGetInfo is to say is free.
std::uint64_t budget_left(const active_rule& r, std::uint64_t really_free);

// ---- kernels.cpp ----

/// Starts a kernel that traps, or whose assertion fails, in the current context. Returns the driver's code.
int start_faulty_kernel(bool trap);
/// The driver's own function of that name; null without a driver.
void* driver_function_at(const char* name);

}  // namespace cufault::injector
