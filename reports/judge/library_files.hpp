// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a stack says of the files of its libraries: member "files", of each library {"soname", "build_id", "bytes", "rpath", "runpath", "needed",
// "gpu_code"}. A stack that was recorded before has none. What has another form counts as absent.
#pragma once

#include "reports/judge/comparison.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// A fact of a file, in words: "cublas: search path" {"DT_RPATH $ORIGIN"}, "cublas: GPU code" {"sm_80", "compute_120"}.
struct file_fact {
  std::string name{};
  std::vector<std::string> words{};  ///< never empty: {"none"} where the file has none
};
/// Search paths of all libraries first, then needed libraries, GPU code, build ids.
std::vector<file_fact> file_facts_of(const nlohmann::json& stack);

/// Each library, and all of its facts in one line. Why, where its file could not be read.
std::vector<std::pair<std::string, std::string>> words_of_files(const nlohmann::json& stack);

/// Facts that differ between two stacks, in the order above; each side has the words that the other has not. Where one stack alone has facts:
/// one line that says so.
std::vector<stack_difference> file_differences(const nlohmann::json& before, const nlohmann::json& after);

/// Why files explain that the arm CASE/ARM changed: "libcublas.so.13 now has DT_RPATH, which LD_LIBRARY_PATH cannot override". Empty where they do
/// not: what the arm does has nothing to do with a fact that differs.
std::string explained_by_files(std::string_view arm, const nlohmann::json& before,
                               const nlohmann::json& after);

}  // namespace cufault
