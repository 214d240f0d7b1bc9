// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The folder of a stack in reports/recorded: stack.json, and FAMILY.jsonl with the lines of its cases and arms (arm_lines.hpp). Arms that are like
// the same arm of a stack with more arms of the same families are stored as differences from it; the arms of that stack, the base, are stored whole.
// A file with cells of the matrix begins with what their operations call (operation_calls.hpp). Long texts that lines of a file
// repeat are stated once, in front of its cases (shared_texts.hpp).
#pragma once

#include "reports/model/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace cufault {

/// "h200-580.159.04-cublas-13.1.0", with "-other-12.4.5" where a second cuBLAS was given. Throws input_error where the stack does not say enough.
std::string stack_folder_name(const nlohmann::json& stack);
/// "memory" of "memory.handle_leak": each family has a file.
std::string family_of_case(const std::string& case_name);
bool is_stack_folder(const std::filesystem::path& path);

record load_stack(const std::filesystem::path& folder, const arm_filter& only = {});  ///< throws input_error
/// Only the cases of one family. Throws input_error.
record load_family(const std::filesystem::path& folder, const std::string& family);

/// The arm that a line refers to, as it is written; null where there is none.
using base_arms = std::function<const arm_result*(const std::string& folder, const std::string& case_name,
                                                  const std::string& arm)>;
/// Adds the lines of a stack's FAMILY.jsonl: of cases, each with those of its arms behind it. Throws input_error.
void add_lines(record& r, const std::string& name, std::string_view text, const arm_filter& only = {},
               const base_arms& bases = {});

/// Files arms in the folder of their stack below `recorded`, shortened: each replaces the one of its name, and lines are sorted. Arms are stored as
/// differences from a stack with more arms of the same families where that is shorter. Stacks that are stored as differences from this one are rewritten. Each file is
/// replaced whole. Throws input_error where what is there cannot be read, and std::system_error where it cannot be written or another process is
/// writing it.
std::filesystem::path file_in_stack(const std::filesystem::path& recorded, const record& r);

}  // namespace cufault
