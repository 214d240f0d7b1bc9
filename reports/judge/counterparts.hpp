// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <span>
#include <string>
#include <vector>

namespace cufault {

/// A fault arm that has its cause for real, and the one for which libcufault.so makes it up.
struct counterpart_pair {
  std::string case_name, natural, counterpart;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const counterpart_pair&, const counterpart_pair&) = default;
};

struct counterpart_comparison {
  counterpart_pair of;
  std::string stack;    ///< stack_label(); empty where no record has anything of the two
  std::string verdict;  ///< "agrees", "nothing fails" (in either), "differs", "not measured yet"
  std::vector<std::string> differences;  ///< why it differs, or what is not measured: a line each
};

/// Compares each counterpart that the records name, and those of `known` beside them, with its natural arm: by signature, level by level where they
/// have some; refined levels do not count. Arms that race agree where they share a signature. A pair that several stacks observed is compared
/// on each of them, by the latest record that has the arm. In the order of case, natural arm, counterpart and stack.
std::vector<counterpart_comparison> compare_counterparts(std::vector<record> records,
                                                         std::span<const counterpart_pair> known = {});

}  // namespace cufault
