// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How often a prediction holds: each recorded stack is judged by the others.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

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

struct leave_one_out {
  /// By family of cases, and what arms were predicted from.
  std::map<std::pair<std::string, predicted_from>, prediction_score> scores{};
  /// Those of arms that two stacks of one architecture show otherwise: of any other arm each prediction holds.
  std::map<predicted_from, prediction_score> of_changing{};
  std::size_t unpredicted = 0;  ///< arms of which no other stack says anything
};

/// Judges each stack of a folder by the others. Arms whose outcome is undefined, and those that race, do not count. `whole_version`: also leaves
/// out the other stacks with the same minor version of cuBLAS, so that arms are predicted from other versions. Throws input_error.
leave_one_out judge_by_others(const std::filesystem::path& recorded, bool whole_version);

}  // namespace cufault
