// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injector/library_functions.hpp"
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

/// What a rule does to a call that it holds for.
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
};

/// What is known of a call when rules are asked.
struct call_facts {
  std::string_view function;             ///< "cuMemAlloc_v2"
  std::string_view caller;               ///< file name of the calling library: "libcublasLt.so.13"
  unsigned thread = 0;                   ///< counted from 1 in the order of their first driver call
  std::optional<int> device{};           ///< of the current context
  std::optional<std::uint64_t> bytes{};  ///< of a function that allocates
  const void* address = nullptr;         ///< that the call returns to
  std::optional<std::uint64_t> stack{};  ///< hash of the call stack (call_stack.cpp), where a rule asks
  const void* context = nullptr;         ///< that a sticky error is of
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

  std::string
      caller;  ///< "" any, "application", "cublas", "cublasLt", "other", or a glob of the library's file name
  std::string process;  ///< "" any, or a glob of the program's file name
  std::vector<std::pair<std::string, std::string>>
      environment;  ///< variables of the process, and globs of their values
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

/// {"rules": [{"function": "cuMemAlloc_v2", "return": "OUT_OF_MEMORY", "skip": 2, "hits": 1}, …], "log_environment": true}. Throws
/// input_error for unknown keys, functions, codes and numbers, and for rules that can never hold.
rule_set rules_from(const json_cursor& top);
/// Why no call can ever meet the rule, in words for people; empty if one can.
std::string why_refused(const rule& r);
/// What rules_from takes, a line for each key.
std::string rules_help();
/// FUNCTION[@STACK][:N[+]]=CODE: the N-th call, of that call stack alone where one is given, fails, with + each later one too; without N
/// every call. Throws input_error.
rule rule_from_text(std::string_view text);
/// What the environment asks for: CUFAULT_RULES is a file, or JSON if it begins with '{'; CUFAULT_FAIL has texts for rule_from_text,
/// parted by spaces. Either may be empty. Throws input_error.
rule_set rules_of(const std::string& file_or_json, std::string_view texts);

/// Whether the name is what `pattern` says: as it is, without its stream suffix, or without version and stream suffix; each also without "__".
bool matches_function(std::string_view pattern, const function_name& name);
inline bool matches_function(std::string_view pattern, std::string_view name) {
  return matches_function(pattern, function_name{name});
}
bool matches_caller(const rule& r, std::string_view library);
/// Whether it is for a process of these programs (its file's name, and the name it was started by) and variables: null for none.
bool matches_process(const rule& r, std::initializer_list<std::string_view> programs,
                     const char* (*variable)(const char* name));
/// Whether the rule is for this function, of the driver or of the library that it is for: what is to fail can return the code, what is to be
/// dropped can be.
bool is_for_function(const rule& r, const function_name& name);
/// Functions of the host that a rule can fail, beside those of the driver and of libraries.
bool is_host_function(std::string_view name);

/// Whether they have to do with functions of the host, which libcufault_host.so stands in front of.
bool needs_host_library(const rule_set& rules);
/// The libraries that they have to do with, each of which libcufault_NAME.so stands in front of.
std::vector<const known_library*> libraries_needed(const rule_set& rules);

/// Whether it holds for such a call; says nothing about how often.
bool holds_for(const rule& r, const call_facts& call);
/// The same, but that the caller may be any: it is not looked at.
bool holds_for_any_caller(const rule& r, const call_facts& call);
/// Whether it acts on the n-th call, counted from 1, that it holds for. Of a rule of some probability: unless it acted `hits` times already. Rules with
/// the same seed draw independently of each other where their streams differ.
bool acts_on(const rule& r, std::uint64_t n, std::uint64_t stream);

}  // namespace cufault::injector
