// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/operation.hpp"
#include "harness/model/case.hpp"
#include "harness/trial/trial.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// A sweep fails every driver call of one operation, one at a time, each time with a new handle and operands. Two clean runs under
/// libcufault.so list the calls by call site. Then each call fails with each code that matters for its function: once, and persistently
/// until the operation ends. At start and end, without a fault, the operation must succeed.
namespace cufault::sweeping {

/// The case sweep.NAME: the operation's resources (operation_facts.hpp), and its sweep in each depth. One arm sweeps an operation that is
/// not the first of its process, in one process while that stays undamaged. Another sweeps the first operation, in a process for each row.
failure_case sweep_case(operation_type of);

/// What the command `cufault sweep` asks of a sweep.
struct request {
  std::pair<int, int> shard{1, 1};  ///< of so many, only the rows of this one
  std::string row;                  ///< only this, as row_named() takes it
};
inline constexpr const char* shard_variable = "CUFAULT_SWEEP_SHARD";
inline constexpr const char* row_variable = "CUFAULT_SWEEP_ROW";
request request_from_environment();  ///< throws setup_failed where they make no sense

// ---- rules for this process ----

/// Replaces all rules by this one; null for none. The injector counts device memory. Throws like set_rules.
void hold(const nlohmann::json& rule);
nlohmann::json log_all();   ///< a rule: every driver call is logged with its call site
std::int64_t bytes_held();  ///< device memory, by that account

}  // namespace cufault::sweeping
