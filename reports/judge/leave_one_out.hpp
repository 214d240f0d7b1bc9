// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How often a prediction holds: each recorded stack is judged by the others.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace cufault {

/// What an arm was predicted from.
enum class predicted_from {
  same_version,  ///< the same architecture, and the same minor version of the library
  both_agree,    ///< the same architecture; the nearest versions below and above show the same
  both_differ,   ///< likewise, and they differ: the arm is to be as one of them
  one_version,   ///< the same architecture; the nearest version on one side
  architecture,  ///< another architecture
};
std::string to_string(predicted_from f);

/// Arms of which a prediction was made, and of which it held.
struct prediction_score {
  std::size_t held = 0, made = 0;
  void add(bool holds) { ++made, held += holds ? 1 : 0; }
};

using prediction_scores = std::map<predicted_from, prediction_score>;

struct leave_one_out {
  std::map<std::string, prediction_scores> of_family{};  ///< of cases
  /// Those of arms that two stacks of one architecture show otherwise: of any other arm each prediction holds.
  prediction_scores of_changing{};
  prediction_scores of_all{};
  std::size_t unpredicted = 0;  ///< arms of which no stack of another version says anything
};

/// Judges each stack of a folder by the others, and by those of other minor versions of cuBLAS. Arms whose outcome is undefined, and those that
/// race, do not count. Throws input_error.
leave_one_out judge_by_others(const std::filesystem::path& recorded);

}  // namespace cufault
