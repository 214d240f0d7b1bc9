// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cells of the matrix that differ only in the call of their operation share a line in a stack's file. The first line of the file states each call:
// {"operations": {"sgemm_64": "cublasSgemm square_64"}}. In the steps of cells, "@" stands for it.
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

inline constexpr std::string_view call_sign = "@";

/// Operation -> "API VARIANT", as steps have it.
using operation_calls = std::map<std::string, std::string, std::less<>>;

/// For each operation, the call that most of its cells make first; check.* is no call. The alphabetically first one where several are equally
/// frequent. Empty where no arm is a cell. No pointer may be null; none is kept.
operation_calls calls_of_operations(const std::vector<case_result*>& cases);
nlohmann::ordered_json operations_json(const operation_calls& calls);  ///< {"operations": {...}}
/// Throws input_error where the line has another shape, or a call is none that a step can have.
operation_calls operations_from(const json_cursor& at);

/// The line of an arm, with "@" in place of the call of its operation. Unchanged where the arm is no cell, the operation is not in `calls`, or the
/// line is a difference ("base_hash").
nlohmann::ordered_json with_call_sign(nlohmann::ordered_json line, const operation_calls& calls);

/// False: no step of the line has "@", and restore_calls() is not needed. True may be a false alarm: only the text is read.
bool may_have_call_sign(std::string_view line);
/// Calls `take` with the line once for each operation, in which its call stands in place of "@", and with which of the arms of the line are to be
/// taken from it: those of this operation that are `wanted`. Where either function is empty, all are. The second is valid during the call. Takes
/// the bytes of the keys and strings of each copy of the line from `room`. Throws input_error where a call is not stated, or `room` is too small.
void restore_calls(const json_cursor& line, const operation_calls& calls,
                   const std::function<bool(const std::string&)>& wanted, std::size_t& room,
                   const std::function<void(const json_cursor& own,
                                            const std::function<bool(const std::string&)>& taken)>& take);

/// For digests: in a cell, "@" in place of the first call that is not check.*, wherever it stands. Other arms are returned unchanged.
std::vector<plateau> with_call_sign_for_digest(std::vector<plateau> seen, std::string_view arm);

}  // namespace cufault
