// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The slots: what is behind each thunk, and the rules that may hold for it. Shared by calls.cpp, resolve.cpp and slots.cpp.
#pragma once

#include "harness/injector/calls.hpp"
#include "harness/injector/library_functions.hpp"
#include "harness/injector/thunks.h"

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault::injector {

/// Shared by slots of which they are the same.
struct rules_of_slot {
  std::vector<active_rule*> all;
  bool by_caller;
  /// Those that calls from one library can meet, found at the first of them.
  struct of_caller {
    const char* library;
    std::vector<active_rule*> rules;
    const of_caller* next;
  };
  mutable std::atomic<const of_caller*> callers{nullptr};

  explicit rules_of_slot(std::vector<active_rule*> rules);
  ~rules_of_slot();
  rules_of_slot(const rules_of_slot&) = delete;
  rules_of_slot& operator=(const rules_of_slot&) = delete;
};

enum class role : std::uint8_t {
  ordinary,
  look_up,                        ///< cuGetProcAddress
  returns_and_resets_last_error,  ///< cudaGetLastError
  returns_last_error              ///< cudaPeekAtLastError
};

struct slot {
  std::atomic<void*> real{nullptr};
  function_name function;
  const known_library* of = nullptr;  ///< whose function it is; null: the driver's
  const char* library = nullptr;      ///< the one that resolved it
  const char *function_json = nullptr, *resolver_json = nullptr;
  role is = role::ordinary;
  /// Its function is neither the driver's nor the library's, but that of another file that intercepts calls and will call the real one.
  bool in_front = false;
  memory_function memory;
  std::atomic<const rules_of_slot*> rules{nullptr};
};
extern constinit std::array<slot, CUFAULT_SLOTS> slots;

/// Everything that allocates. Made when first needed, never destroyed: other threads outlive exit().
struct state {
  /// By the function's address, the library that resolved it, and the name, if it is not one of the driver: others may have two names for one.
  std::map<std::tuple<const void*, const char*, const char*>, std::uint32_t> slot_of;
  std::set<std::string> names;                                         ///< what slots point to
  std::map<std::pair<const void*, const char*>, const char*> symbols;  ///< what symbol_at() returned
  /// A set of rules and what slots have of it.
  struct rule_generation {
    active_rules rules;
    std::vector<std::unique_ptr<const rules_of_slot>> of_slots;
  };
  std::unique_ptr<rule_generation> current;
  std::vector<std::unique_ptr<rule_generation>> replaced;  ///< calls may still read them
  std::vector<active_rule*> scratch;
  std::deque<unwrapped_name> unwrapped;
  std::map<const void*, std::optional<int>> primary_of;  ///< devices of primary contexts, by context
  std::map<const void*, sticky_error> lost_contexts;     ///< those of no primary context
  std::map<int, sticky_error> lost_primaries;            ///< by device
};

/// The state's mutex, and this thread left alone.
class locked {
 public:
  locked();
  ~locked();
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  state* operator->();
  state& operator*();

 private:
  left_alone alone_;
};

/// While it lives, no rule that this thread can reach is freed.
class reading_rules {
 public:
  reading_rules();
  ~reading_rules();
  reading_rules(const reading_rules&) = delete;
  reading_rules& operator=(const reading_rules&) = delete;
};

/// Names the next slot. The caller looks whether one is left.
void name_slot(state& w, const char* function, const char* library);
/// What rules now in effect make of calls through it.
void update_slot(state& w, std::uint32_t index);
/// Calls through it go straight to the real function, or come to begin_call, with the state's mutex held.
void aim_slot(std::uint32_t index);
/// Every call comes to begin_call, with the state's mutex held.
void arm_all_slots();
/// Of the rules that go on, each with what it is from now on; other errors are over.
void keep_sticky_errors_of(state& w, const std::map<const active_rule*, const active_rule*>& successors);
void add_unwrapped(state& w, const char* function);
bool is_thunk(const void* address);

// ---- last_error.cpp ----

/// Whether a thread has one: then calls that tell it come to begin_call.
bool last_errors_exist();
/// A rule made a call through the slot return `code`, 0 for success, of which the runtime knows nothing.
void keep_last_error(const slot& s, int code);
/// Whether this thread has one, and a call of that role tells it.
bool last_error_is_told_by(role is);
/// What such a call returns in place of the runtime's `result`; it resets the error where the function does.
std::int64_t last_error_or(std::int64_t result, role is);
/// When its thread ends.
void forget_last_error();

// ---- resolve.cpp ----

/// The function that a program linked against: what would be found were this library not there, or else the driver's. Null if there is none.
void* resolve_linked(std::uint32_t index);
/// What a library gets instead of a function of the driver, or of another library: then `asked` is its name in that one's list.
void* wrapped(void* real, const char* asked, const char* library, const known_library* of = nullptr);
/// The thunk that code in the file of address `caller` gets in place of `real`, a function of the library `of`; `name` is that of its list.
void* wrapped_of_library(void* real, const char* name, const void* caller, const known_library& of);
/// What a file would find were this library, and those in front of libraries, not there. Null if there is nothing.
void* default_definition(const char* name, const void* caller, const known_library* of);

/// File names of libraries that the loader searches before this one and that define functions of the driver. Calls linked to these do not come here;
/// what these libraries call themselves does.
std::vector<const char*> libraries_in_front();

/// libcufault_cublas.so and its like, in memory. Laid out by library_thunks.S.
struct library_front {
  const char *begin, *end;             ///< its functions
  std::atomic<const void*>* bindings;  ///< of each function, for the first file that called it (bind.cpp)
};
/// Null where it is not preloaded.
const library_front* front_of(const known_library& of);

}  // namespace cufault::injector
