// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// "13.1.0" as {13, 1}: trailing zeros go, so that 13.1 and 13.1.0 are equal. Empty where it is no version.
using version = std::vector<std::uint64_t>;
version version_from(std::string_view text);

/// The part of a version in which two differ first.
enum class version_part { major, minor };

/// What a difference between two stacks means for an arm that depends on it.
struct distance_row {
  std::string_view key;  ///< of stack_keys
  version_part differs;
  std::optional<int> adds;  ///< to the distance; empty: nothing is predicted from such a stack
  std::string_view why;
};
/// The least distance of a stack with another architecture. What is nearer differs in versions alone.
inline constexpr int other_architecture = 100;

/// All differences that count. Patch versions, the driver and the size of the memory add nothing.
const std::vector<distance_row>& distance_table();

/// The keys that the outcome of an arm can depend on. The architecture counts only if a trial had a context and the arm does not say
/// any_architecture.
std::vector<std::string_view> keys_that_matter(const std::string& case_name, const arm_result& arm);

/// Distance between two stacks by these keys. 0: the recorded stack judges; more: it predicts; empty: it says nothing. A key that `here` lacks,
/// as on a machine that lost its GPU, counts as equal.
std::optional<int> distance(const stack_keys& recorded, const stack_keys& here,
                            std::span<const std::string_view> keys);

}  // namespace cufault
