// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Slots: the function behind each thunk and the rules that may hold for it. Shared by calls.cpp, resolve.cpp and slots.cpp.
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

/// Rules of a slot; slots with equal rules share an object.
struct rules_of_slot {
  std::vector<active_rule*> all;
  bool by_caller;
  /// Rules that calls from one library can match, found at the first such call.
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

/// Calls that a rule for a function counts. They begin with rules that may tell of one, at the sum of the counts: exact, but for calls of other
/// threads in that moment. From then on each call has a number of its own.
struct call_numbers {
  std::string_view function;
  std::atomic<std::uint64_t> calls{0};
};
struct numbered_by {
  call_numbers* by;
  const numbered_by* next;
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
  /// True if the function belongs to another interposing file, which will call the real one.
  bool in_front = false;
  memory_function memory;
  std::atomic<const rules_of_slot*> rules{nullptr};
  std::atomic<const numbered_by*> numbered{
      nullptr};                             ///< its own function's, and that of shorter forms of the name
  std::atomic<std::uint64_t> passed_on{0};  ///< calls that belong to a call of another slot
};
extern constinit std::array<slot, CUFAULT_SLOTS> slots;

/// All allocated state. Made at the first need and never destroyed, because other threads outlive exit().
struct state {
  /// Key: address of the function, the library that resolved it, and the name if it is no driver function. A library may have two names for
  /// one function.
  std::map<std::tuple<const void*, const char*, const char*>, std::uint32_t> slot_of;
  std::set<std::string> names;                                         ///< what slots point to
  std::map<std::pair<const void*, const char*>, const char*> symbols;  ///< what symbol_at() returned
  /// A set of rules and the data that slots derived from it.
  struct rule_generation {
    active_rules rules;
    std::vector<std::unique_ptr<const rules_of_slot>> of_slots;
    std::deque<call_numbers> numbers;  ///< one for each function with a rule that may tell a number
    std::deque<numbered_by> numbered;
  };
  std::unique_ptr<rule_generation> current;
  std::vector<std::unique_ptr<rule_generation>> replaced;  ///< calls may still read them
  std::vector<active_rule*> scratch;
  std::deque<unwrapped_name> unwrapped;
  std::map<const void*, std::optional<int>> primary_of;  ///< devices of primary contexts, by context
  std::map<const void*, sticky_error> lost_contexts;     ///< those of no primary context
  std::map<int, sticky_error> lost_primaries;            ///< by device
};

/// Holds the state's mutex and exempts this thread from rules.
class locked {
 public:
  locked();
  ~locked();
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  state* operator->();
  state& operator*();

 private:
  exempt_from_rules alone_;
};

/// While an object lives, no rule that this thread can reach is freed.
class reading_rules {
 public:
  reading_rules();
  ~reading_rules();
  reading_rules(const reading_rules&) = delete;
  reading_rules& operator=(const reading_rules&) = delete;
};

/// Names the next slot. The caller checks that one is left.
void name_slot(state& w, const char* function, const char* library);
/// Applies the rules now in effect to the slot.
void update_slot(state& w, std::uint32_t index);
/// Lets the thunk jump to the real function or to begin_call. Call with the state's mutex held.
void set_entry_of_slot(std::uint32_t index);
/// Lets every thunk jump to begin_call. Call with the state's mutex held.
void arm_all_slots();
/// Keeps the errors of rules with a successor, under that successor; ends all others.
void keep_sticky_errors_of(state& w, const std::map<const active_rule*, const active_rule*>& successors);
void add_unwrapped(state& w, const char* function);
bool is_thunk(const void* address);

// ---- corrupt.cpp ----

/// Changes the result of the successful call as the rule says, and tells what. Returns why that cannot be, or "".
std::string corrupt_result(const slot& s, const rule& r, const call_frame& frame, std::uint64_t call,
                           corrupted& told);

// ---- last_error.cpp ----

/// True if any thread has an error: then calls that report it go through begin_call.
bool last_errors_exist();
/// Keeps `code` (0: success) of a call that a rule failed without the runtime's knowledge.
void keep_last_error(const slot& s, int code);
/// True if this thread has an error and a call with this role reports it.
bool last_error_is_told_by(role is);
/// Result of such a call in place of the runtime's `result`. Resets the error if the function does.
std::int64_t last_error_or(std::int64_t result, role is);
/// Called when a thread ends.
void forget_last_error();

// ---- resolve.cpp ----

/// The function that a program linked against: its definition without this library, else the driver's. Null if there is none.
void* resolve_linked(std::uint32_t index);
/// What `library` gets in place of a function of the driver or of library `of`; `asked` is the function's name in that list.
void* wrapped(void* real, const char* asked, const char* library, const known_library* of = nullptr);
/// The thunk that the file containing `caller` gets in place of `real`, a function of library `of` listed as `name`.
void* wrapped_of_library(void* real, const char* name, const void* caller, const known_library& of);
/// The definition that a file would find without this library and its fronts for other libraries. Null if there is none.
void* default_definition(const char* name, const void* caller, const known_library* of);

/// Names of libraries that the loader searches before this one and that define driver functions. Calls linked to them bypass this library;
/// the calls they make do not.
std::vector<const char*> libraries_in_front();

/// libcufault_cublas.so and its like in memory, laid out by library_thunks.S.
struct library_front {
  const char *begin, *end;             ///< its functions
  std::atomic<const void*>* bindings;  ///< of each function, for the first file that called it (bind.cpp)
};
/// Null if the library's front is not preloaded.
const library_front* front_of(const known_library& of);

}  // namespace cufault::injector
