// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The folder of a stack: stack.json, which has the stack and the runs that made its trials, and FAMILY.jsonl with a line for each arm
// (arm_line.hpp), sorted by case and arm.
#pragma once

#include "reports/model/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// "h200-580.159.04-cublas-13.1.0", with "-other-12.4.5" where a second cuBLAS was given. Throws input_error where the stack does not say enough.
std::string stack_folder_name(const nlohmann::json& stack);
/// "memory" of "memory.handle_leak": each family has a file.
std::string family_of_case(const std::string& case_name);
bool is_stack_folder(const std::filesystem::path& path);

/// The folders of stacks in a folder, sorted; none where it is missing.
std::vector<std::filesystem::path> stacks_in(const std::filesystem::path& folder);

/// Gets "FILE:LINE: what is wrong" of each line that cannot be read; the others are read. Without it the first such line throws input_error.
using bad_line = std::function<void(const std::string&)>;
/// The stack, and the arms of one family of cases; without a family no arms.
record load_family(const std::filesystem::path& folder, const std::string& family, const bad_line& bad = {});
record load_stack(const std::filesystem::path& folder, const bad_line& bad = {});
/// As load_record(), which takes most of a command's time: of the folder of a stack only these families of cases; all where none is named.
record load_families(const std::filesystem::path& file, const std::set<std::string>& families);

/// Files arms in the folder of their stack below `recorded`, shortened: each replaces the line of its name, and no other line changes. Each
/// file is replaced whole. Throws input_error where what is there cannot be read, and std::system_error where it cannot be written or another
/// process is writing it.
std::filesystem::path file_in_stack(const std::filesystem::path& recorded, const record& r);

/// Removes arms from the folder of a stack; stack.json and costs stay. Returns how many.
std::size_t remove_arms(
    const std::filesystem::path& folder,
    const std::function<bool(const std::string& case_name, const std::string& arm)>& which);

}  // namespace cufault
