// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cufault {

class json_cursor;

/// What else was seen of a step, typed. Compared, unlike English text.
using fact =
    std::variant<bool, std::int64_t, std::string, std::vector<std::int64_t>, std::vector<std::string>>;
/// By name; names and types are those of known_facts().
using fact_map = std::map<std::string, fact>;

enum class fact_type { boolean, integer, word, integers, words };

/// What follows where a fact differs between two runs.
enum class fact_use {
  compared,  ///< the step differs
  noted,     ///< one line that is no failure: which of many equal failures came first, say
  kept       ///< nothing: two versions of cuBLAS may differ in it, though nothing is wrong
};

struct known_fact {
  std::string_view name;
  fact_type type;
  std::string_view meaning;  ///< with the unit
  fact_use use = fact_use::compared;
};

/// All of them, sorted by name.
std::span<const known_fact> known_facts();
/// nullptr where there is none of this name.
const known_fact* find_fact(std::string_view name);
/// Why a fact cannot be: unknown, or of another type; empty if it can.
std::string defect_of(std::string_view name, const fact& value);

/// Those of this use. Of an error at a wild address only that it is one is compared, since which one depends on what lies there.
fact_map facts_that_are(fact_use use, const fact_map& facts);

/// "blamed 8; written A, outside"; empty where there are none.
std::string describe(const fact_map& facts);

nlohmann::ordered_json facts_json(const fact_map& facts);
/// A fact that is null is not known. Throws input_error.
fact_map facts_from(const json_cursor& at);

}  // namespace cufault
