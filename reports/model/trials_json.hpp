// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/observation.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <vector>

// A call is a text, "cublasSgemm split_k: _INTERNAL_ERROR": of a function of cuBLAS, the status is written without CUBLAS_STATUS. A call that did
// what it should and has the status of success has none. Where there is more to say it is {"step": this text, "ok", "last_error", "facts", "swept"}.
// Calls behind the remedy stand in "after". "times" has the milliseconds that calls took, by their places among both, from 0: {"3": 145}. With
// "written": ["C"] each call that did what it should wrote C, and each other one nothing, unless its facts say otherwise; null there: not known. Samples of memory, measurements and notes are lists: ["handles created", 12, "handles"].
namespace cufault {

/// The trials of an arm. One that saw the same as an earlier one is {"like": its index, and what is its own: level, GPU, times, memory,
/// measurements}.
nlohmann::ordered_json trials_json(const std::vector<observation>& trials);
/// `room`: how many bytes may be copied of trials that others are like; less afterwards. Throws input_error.
std::vector<observation> trials_from(const json_cursor& list, std::size_t& room);
std::size_t bytes_of_trial(const observation& o);  ///< about what a copy takes in memory

}  // namespace cufault
