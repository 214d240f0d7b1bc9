// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// One line for one change: arms with one verdict whose outcomes were rewritten alike.
#pragma once

#include "reports/judge/comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// An arm of which something is to be said.
struct described_arm {
  std::string name{};  ///< CASE/ARM
  std::string line{};  ///< what is said of it where it is alone: "CASE/ARM: before → now"
  verdict v = verdict::unresolved;
  std::string change{};   ///< what_changed()
  std::string allowed{};  ///< " [allowed until 2026-12-31: REASON]"; empty where no allowance covers it
  loss lost = loss::value;
};

/// `line` has the beginning of the reason.
described_arm described(std::string name, const judgement& found);

struct change_group {
  verdict v = verdict::unresolved;
  loss lost = loss::value;
  std::string change{}, allowed{}, line{};  ///< of the first of its arms
  std::vector<std::size_t> arms{};          ///< indexes
  std::vector<std::string> names{};         ///< of these
};
/// Each arm is in one group. What is allowed comes last, and undefined behaviour before it; else the worst verdict first, then what loses a
/// user most, then the largest group, then in the order of the arms.
std::vector<change_group> groups_of(const std::vector<described_arm>& arms);

/// "24 arms CHANGED: another call is named: cublasGemmEx: a/b, c/d"; of one arm its line. The verdict is left out below a heading that says it.
std::string line_of(const change_group& g, bool with_verdict);
/// A line a group, at most so many: then the last is for those that are left, with `all`, what prints each.
std::vector<std::string> lines_of(const std::vector<change_group>& groups, bool with_verdict,
                                  std::size_t most, std::string_view all);
inline constexpr std::size_t most_groups = 8;  ///< lines of one screen

/// [{"change", "verdict", "arms": how many, "examples": two, "allowed"}]
nlohmann::json to_json(const std::vector<change_group>& groups);

}  // namespace cufault
