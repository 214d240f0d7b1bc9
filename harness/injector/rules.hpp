// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injector/library_functions.hpp"
#include "harness/injector/results.hpp"
#include "reports/base/json_input.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault::injector {

/// What a rule does to a call for which it holds.
enum class effect {
  fail,            ///< the call returns `code` (of a host function: null, with errno `code`)
  delay,           ///< it comes `delay` later
  trap,            ///< a kernel that traps is started in front of it, in the current context
  device_assert,   ///< likewise one whose assertion fails
  driver_version,  ///< cuDriverGetVersion writes `driver_version`
  hide,            ///< the look-up of the function answers as if the driver did not have it
  budget,          ///< device allocations beyond `budget` bytes fail, and cuMemGetInfo agrees
  log,             ///< nothing, but a line of the log for each matching call
  drop,            ///< the call is not made, and says SUCCESS
  spin,            ///< it does not come before the rule ends
  corrupt,         ///< elements of its result are changed after it
};

/// How `corrupt` changes a result. Places and bits are drawn by `seed` and the number of the call.
enum class corruption : std::uint8_t {
  bit,      ///< one bit of one element
  element,  ///< one element: any other bits, but no infinity and no NaN
  nan,      ///< one element is NaN
  tile,     ///< a tile of up to 16 by 16 elements, each as `element`
};

/// Facts of a call that rules can test.
struct call_facts {
  std::string_view function;             ///< "cuMemAlloc_v2"
  std::string_view caller;               ///< file name of the calling library: "libcublasLt.so.13"
  unsigned thread = 0;                   ///< counted from 1 in the order of their first driver call
  std::optional<int> device{};           ///< of the current context
  std::optional<std::uint64_t> bytes{};  ///< of a function that allocates
  const void* address = nullptr;         ///< that the call returns to
  std::optional<std::uint64_t> stack{};  ///< hash of the call stack (call_stack.cpp), where a rule asks
  const void* context = nullptr;         ///< that a sticky error is of
  std::uint64_t number = 0;  ///< among the calls that a rule for `function` counts; 0: no rule but logs
};

struct rule {
  std::string function;               ///< a name, with or without its suffix, or a glob of * and ?
  const known_library* of = nullptr;  ///< whose function it is; null: the driver's or the host's
  effect does = effect::fail;
  int code = 0;
  std::chrono::milliseconds delay{0};
  std::uint64_t budget = 0;
  int driver_version = 0;
  bool after = false;   ///< the call is made, and its caller told otherwise
  bool sticky = false;  ///< later calls in the same context return `code` too
  corruption how = corruption::bit;
  std::optional<unsigned> argument{};     ///< of a kernel, from 0: the pointer to its result
  std::uint64_t elements = 0;             ///< that this result has
  const number_format* format = nullptr;  ///< of these

  std::string
      caller;  ///< "" any, "application", "cublas", "cublasLt", "other", or a glob of the library's file name
  std::string process;  ///< "" any, or a glob of the program's file name
  std::vector<std::pair<std::string, std::string>>
      environment;  ///< variables of the process, and globs of their values
  std::optional<int> pid;
  std::optional<double> began_before;  ///< seconds since 1970: programs that were started before
  std::optional<unsigned> thread;
  std::optional<int> device;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  bool sized = false;               ///< min_bytes or max_bytes was given: only calls that allocate
  std::vector<std::string> except;  ///< names of functions that it is not for

  bool stack = false;                       ///< its lines tell the call stack
  std::optional<std::uint64_t> at_stack{};  ///< it holds only for calls of this call stack (call_stack.cpp)
  bool then_any_stack = false;              ///< once it has acted, it holds for calls of any stack
  bool once_per_stack = false;              ///< it holds for the first call of each call stack

  std::uint64_t skip = 0;                                          ///< calls that are let through first
  std::uint64_t hits = std::numeric_limits<std::uint64_t>::max();  ///< it acts so often
  std::uint64_t every = 1;
  std::string pattern;  ///< "XOOXO": it acts on calls with an X; at its end it begins again
  double probability = 1;
  std::uint64_t seed = 0;

  bool force = false;  ///< `code` although the function cannot return it

  bool operator==(const rule&) const = default;
};

struct rule_set {
  std::vector<rule> rules;
  bool log_environment = false;
  bool reload = true;  ///< when their file changes
};

/// Parses {"rules": [{"function": "cuMemAlloc_v2", "return": "OUT_OF_MEMORY", "skip": 2, "hits": 1}, …], "log_environment": true}. Throws
/// input_error for unknown keys, functions, codes and numbers, and for rules that can never hold.
rule_set rules_from(const json_cursor& top);
/// Why no call can match the rule, as text for people; "" if one can.
std::string why_refused(const rule& r);
/// Help for the keys that rules_from accepts, one line each.
std::string rules_help();
/// Parses FUNCTION[@STACK][:N[+]|:PATTERN]=CODE: the N-th call fails; with + all later calls fail too; without N every call, or those with an
/// X in the pattern. With STACK only calls of that call stack count. Throws input_error.
rule rule_from_text(std::string_view text);
/// Parses the variables: CUFAULT_RULES is a file, or JSON if it begins with '{'; CUFAULT_FAIL holds texts for rule_from_text, separated by
/// spaces. Either may be empty. Throws input_error.
rule_set rules_of(const std::string& file_or_json, std::string_view texts);

/// True if `pattern` matches the full name, the name without its stream suffix, or the name without version and stream suffix; each also
/// without "__".
bool matches_function(std::string_view pattern, const function_name& name);
inline bool matches_function(std::string_view pattern, std::string_view name) {
  return matches_function(pattern, function_name{name});
}
bool matches_caller(const rule& r, std::string_view library);
/// True if the rule is for one of these programs (name of its file, and name it was started by) and these variables. `null` means unset.
bool matches_process(const rule& r, std::initializer_list<std::string_view> programs,
                     const char* (*variable)(const char* name));
/// True if the rule is for this function of its library or driver: the function can return the code, or can be dropped.
bool is_for_function(const rule& r, const function_name& name);
/// Host functions that a rule can fail.
bool is_host_function(std::string_view name);

/// True if a rule names functions that libcufault_host.so interposes.
bool needs_host_library(const rule_set& rules);
/// The libraries that the rules name; libcufault_NAME.so interposes each.
std::vector<const known_library*> libraries_needed(const rule_set& rules);

/// True if the rule matches the call; ignores how often it already acted.
bool holds_for(const rule& r, const call_facts& call);
/// The same for any caller: the calling library is not compared.
bool holds_for_any_caller(const rule& r, const call_facts& call);
/// True if the rule acts on the n-th matching call, counted from 1. For a rule with a probability, the caller counts `hits`. Rules with one
/// seed but different streams draw independently.
bool acts_on(const rule& r, std::uint64_t n, std::uint64_t stream);
/// A number with its bits scattered evenly, the same each time.
std::uint64_t scattered(std::uint64_t x);

}  // namespace cufault::injector
