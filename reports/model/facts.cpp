// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/facts.hpp"

#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

namespace cufault {
namespace {

using type = fact_type;

constexpr std::array all_facts{
    known_fact{"afresh", type::word, "of a sweep: status of the operation by a new handle"},
    known_fact{"again", type::word, "of a sweep: status of the operation once more"},
    known_fact{"algorithm_alignment", type::integer, "bytes that the algorithm wants operands aligned to"},
    known_fact{"algorithms", type::integer, "algorithms that the heuristic returned"},
    known_fact{"all_zero", type::boolean, "every element of C is zero"},
    known_fact{"allocation_nodes", type::integer, "nodes of a graph that allocate"},
    known_fact{"bits_used", type::word, "all or limited: bits of the operands that went into the product"},
    known_fact{"blamed", type::integer, "parameter that cuBLAS's printed line names, counted as it counts"},
    known_fact{"blamed_routine", type::word, "routine that this line names"},
    known_fact{"check", type::word, "of a sweep: what the operation had computed"},
    known_fact{"driver_calls", type::integer, "that the operation made, where nothing fails", fact_use::kept},
    known_fact{"elements_right", type::integers,
               "elements of C that are right: first and last of each range"},
    known_fact{"elements_written", type::integers, "elements of an array: first and last of each range"},
    known_fact{"elements_written_behind_c", type::integers,
               "counted from C's first: first and last of each range"},
    known_fact{"elements_written_in_c", type::integers,
               "counted from C's first: first and last of each range"},
    known_fact{"ended_in", type::word, "of a sweep: in what the process ended"},
    known_fact{"exception", type::word, "type of the exception that a framework raised"},
    known_fact{"exit_code", type::integer, "of a process that ended in the call"},
    known_fact{"extent_of_c", type::integers, "first and last element of C in the array around it"},
    known_fact{"failed", type::integer, "of the configurations that were tried"},
    known_fact{"first_failing", type::integers,
               "algorithm, tile, stages, parts and scheme of the first that failed", fact_use::noted},
    known_fact{"first_failing_k", type::integer, "k of the first product that failed"},
    known_fact{"first_succeeded", type::boolean, "the call before, which was to fail, did not"},
    known_fact{"free_nodes", type::integer, "nodes of a graph that free"},
    known_fact{"is_b_a", type::boolean, "C holds B A"},
    known_fact{"kernels", type::integer,
               "that the operation launched, where nothing fails; those of a graph are not counted",
               fact_use::kept},
    known_fact{"less_aligned", type::word, "operand that is less aligned than the algorithm wants"},
    known_fact{"logged", type::boolean, "cuBLASLt logged an error during the call"},
    known_fact{"matrices_written", type::integers, "of a batch, by number; -1 lies in front of the first"},
    known_fact{"memory_left", type::boolean, "of a sweep: device memory that no handle gave back"},
    known_fact{
        "memory_taken", type::integer,
        "bytes that allocation functions of the driver gave in the operation, and it kept; if less than "
        "0, it gave them back",
        fact_use::kept},
    known_fact{"named_call", type::word, "library call that the text of an exception names"},
    known_fact{"nan_elements", type::integer, "of the wrong elements of C: those that are NaN"},
    known_fact{"nan_expected", type::integer, "elements of C that must be NaN"},
    known_fact{"nan_made_zero", type::integer, "of these: those that are zero"},
    known_fact{"not_finite_elements", type::integer, "elements of C"},
    known_fact{"other_bits", type::boolean, "right numbers, but not the bits of the same product before"},
    known_fact{"other_wrong_elements", type::integer, "elements of C that are finite and wrong"},
    known_fact{"reached", type::boolean, "of a sweep: the driver call that was to fail was made"},
    known_fact{"refused_by", type::word, "function that returned the status, where several were called"},
    known_fact{"replayed", type::word, "function that the graph was captured from"},
    known_fact{"result", type::word, "which of several allowed results this is"},
    known_fact{"right", type::integer, "of the requests that were tried: those with right numbers"},
    known_fact{"same_handle", type::word, "of a sweep: status of a product by the same handle"},
    known_fact{"signal", type::word, "that ended the process of the call"},
    known_fact{"strides", type::integers, "of a tensor that the step made"},
    known_fact{"taken_as", type::word, "compute type that the numbers show"},
    known_fact{"text", type::word, "first 40 characters of an exception's text, numbers as N"},
    known_fact{"then", type::word, "error of the wait behind the call"},
    known_fact{"tried", type::integer, "configurations or requests"},
    known_fact{"type", type::word, "of a tensor that the step made"},
    known_fact{"when_set", type::boolean, "the status came from a setter before the call"},
    known_fact{"without_algorithm", type::word, "status of the same call with a null algorithm"},
    known_fact{"without_algorithm_numbers", type::word,
               "right or wrong: of the same call with a null algorithm"},
    known_fact{"workspace_used", type::boolean, "the call wrote to the workspace that it was given"},
    known_fact{"written", type::words, "what the call wrote: A, B, C, host, outside"},
    known_fact{"written_beyond", type::words, "operands whose guards were overwritten"},
    known_fact{"wrong_elements", type::integer, "elements of C"},
};
static_assert(std::ranges::is_sorted(all_facts, [](const known_fact& a, const known_fact& b) {
  return a.name < b.name;
}));

constexpr std::array wild_address{"cudaErrorIllegalAddress",     "cudaErrorInvalidAddressSpace",
                                  "cudaErrorIllegalInstruction", "cudaErrorInvalidPc",
                                  "cudaErrorHardwareStackError", "cudaErrorLaunchFailure"};

std::string_view name_of_type(fact_type t) {
  constexpr std::array names{"a boolean", "an integer", "a word", "a list of integers", "a list of words"};
  return names.at(static_cast<std::size_t>(t));
}

std::string text_of(const fact& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using held = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<held, bool>)
          return v ? "yes" : "no";
        else if constexpr (std::is_same_v<held, std::vector<std::int64_t>> ||
                           std::is_same_v<held, std::vector<std::string>>)
          return v.empty() ? "nothing" : fmt::format("{}", fmt::join(v, ", "));
        else
          return fmt::format("{}", v);
      },
      value);
}

}  // namespace

std::span<const known_fact> known_facts() {
  return all_facts;
}

const known_fact* find_fact(std::string_view name) {
  const auto found = std::ranges::lower_bound(all_facts, name, {}, &known_fact::name);
  return found != all_facts.end() && found->name == name ? &*found : nullptr;
}

std::string defect_of(std::string_view name, const fact& value) {
  const known_fact* const known = find_fact(name);
  if (known == nullptr) return fmt::format("no fact is called {}; reports/model/facts.cpp lists them", name);
  if (value.index() != static_cast<std::size_t>(known->type))
    return fmt::format("the fact {} is {}", name, name_of_type(known->type));
  return {};
}

fact_map facts_that_are(fact_use use, const fact_map& facts) {
  fact_map reduced = facts;
  std::erase_if(reduced, [&](const auto& f) {
    const known_fact* const known = find_fact(f.first);
    return known != nullptr && known->use != use;
  });
  if (const auto then = reduced.find("then"); then != reduced.end())
    if (const auto* error = std::get_if<std::string>(&then->second);
        error != nullptr && std::ranges::find(wild_address, *error) != wild_address.end())
      then->second = std::string("an error of a wild address");
  return reduced;
}

std::string describe(const fact_map& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    std::string words = name;
    std::ranges::replace(words, '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", words, text_of(value));
  }
  return text;
}

nlohmann::ordered_json facts_json(const fact_map& facts) {
  auto j = nlohmann::ordered_json::object();
  for (const auto& [name, value] : facts) std::visit([&, &key = name](const auto& v) { j[key] = v; }, value);
  return j;
}

fact_map facts_from(const json_cursor& at) {
  fact_map facts;
  for (const auto& name : at.keys()) {
    const auto item = at.at(name);
    fact read;
    if (item.is_boolean()) {
      read = item.boolean();
    } else if (item.is_integer()) {
      read = item.integer();
    } else if (item.is_array() && find_fact(name) != nullptr && find_fact(name)->type == type::words) {
      std::vector<std::string> words;
      for (const auto& word : item.items()) words.push_back(word.string());
      read = std::move(words);
    } else if (item.is_array()) {
      std::vector<std::int64_t> integers;
      for (const auto& integer : item.items()) integers.push_back(integer.integer());
      read = std::move(integers);
    } else {
      if (!item.is_string() && item.value().is_null()) continue;
      read = item.string();
    }
    if (const auto defect = defect_of(name, read); !defect.empty()) item.fail(defect);
    facts.emplace(name, std::move(read));
  }
  return facts;
}

}  // namespace cufault
