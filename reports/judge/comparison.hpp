// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// What became of an arm from one record to another.
enum class change {
  unchanged,
  changed,
  gone,           ///< the failure no longer happens, or a dead end now clears it
  worsened,       ///< a status became a crash, a hang, wrong numbers or a damaged context
  remedy_broken,  ///< the failure is the same, its remedy no longer clears it
  absent,         ///< observed before, and not any more
  added,          ///< not observed before
  unresolved,     ///< harness or control failed: nothing is proved
  unobserved      ///< in neither
};
std::span<const enum_name<change>> names_of(change);
std::string to_string(change c);  ///< "unchanged", ..., "new" for added

/// Why an arm is absent or new where one of the records does not have it at all.
inline constexpr const char *not_in_baseline = "not in the baseline",
                            *not_in_candidate = "not in the candidate";

struct arm_change {
  change what = change::unchanged;
  std::string why{};  ///< one line; empty where nothing changed
};

/// Compares one arm of two records, as a gate compares it with its expectation: signatures; level edges and the measurements that claims
/// rest on within their bands; of an arm that races, rates. nullptr: the record has no such arm.
arm_change compare_arms(const arm_result* before, const arm_result* after);

/// An arm of several records, by join_key().
struct joined_arm {
  std::string case_name, arm;
  std::vector<const arm_result*> each;  ///< one for each record; nullptr where it has none
};
/// All arms of the records, sorted by name. They point into the records.
std::vector<joined_arm> join(std::span<const record> records);

/// A value of two stacks that is not the same; empty where one has none.
struct stack_difference {
  std::string name;  ///< "cublas", "cublas: search path", or a path: "environment/LD_LIBRARY_PATH"
  std::string before, after;
};
/// In this order: facts of the libraries' files (file_differences()), packages of Python, keys that conditions can name, other values that repeat no key.
std::vector<stack_difference> stack_differences(const record& before, const record& after);

}  // namespace cufault
