// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cells of the matrix differ in the call of their operation. A stack's file states it once, {"operations": {"sgemm_64": "cublasSgemm square_64"}},
// and steps of cells have "@" in its place, so that cells of many operations that came to the same share a line.
#pragma once

#include "reports/model/results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class json_cursor;

/// What stands for the call of an operation.
inline constexpr std::string_view own_call = "@";

/// By the name of the operation: the name of the step that most of its cells begin with.
using operation_calls = std::map<std::string, std::string, std::less<>>;

operation_calls calls_of_operations(const std::vector<case_result*>& cases);
nlohmann::ordered_json operations_json(const operation_calls& calls);
operation_calls operations_from(const json_cursor& at);  ///< throws input_error

/// The line of a cell with "@" for the call of its operation; the line itself where that is not known, or the arm is no cell.
nlohmann::ordered_json without_own_call(nlohmann::ordered_json line, const operation_calls& calls);

/// Whether a step of the line can have "@". False: none has.
bool may_have_own_call(std::string_view line);
/// The same arms in lines in which each "@" is the call again, a line for each operation; only arms that are `wanted`, all where that is empty.
/// Takes what is copied from `room`. Throws input_error where the call is not known.
std::vector<std::string> with_own_calls(const json_cursor& line, const operation_calls& calls,
                                        const std::function<bool(const std::string&)>& wanted,
                                        std::size_t& room);

/// Of a cell, with "@" for the name of its first step that is a call: digests are made of that, so that cells of many operations have the same. Of
/// another arm, as it is.
std::vector<plateau> without_own_call(std::vector<plateau> seen, std::string_view arm);

}  // namespace cufault
