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

/// A sweep: every driver call inside of one operation is made to fail, one at a time, each with handle and operands of its own. Two clean
/// runs, under libcufault.so, say which calls there are, by call site; then each is failed with each code that matters for its function,
/// once, and from there until the operation is over. At the start and at the end, where nothing fails, the operation must succeed.
namespace cufault::sweeping {

/// The case sweep.NAME: what the operation takes (operation_facts.hpp), and the operation swept in each depth: one that is not the first of its
/// process, in one process for as long as that stays as it was; and the first one, in a process for each row.
failure_case sweep_case(operation_type of);

/// What a sweep is told from outside: `cufault sweep`.
struct request {
  std::pair<int, int> shard{1, 1};  ///< of so many, only the rows of this one
  std::string row;                  ///< only this, as row_named() takes it
};
inline constexpr const char* shard_variable = "CUFAULT_SWEEP_SHARD";
inline constexpr const char* row_variable = "CUFAULT_SWEEP_ROW";
request request_from_environment();  ///< throws setup_failed where they make no sense

// ---- rules for this process ----

/// From now on this rule holds and no other; null: none. The injector accounts for device memory. Throws as set_rules does.
void hold(const nlohmann::json& rule);
nlohmann::json log_all();   ///< a rule: every driver call is logged with its call site
std::int64_t bytes_held();  ///< device memory, by that account

}  // namespace cufault::sweeping
