// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What those who read records of runs and of stacks share.
#pragma once

#include "reports/base/json_input.hpp"
#include "reports/model/record.hpp"

#include <string>
#include <string_view>

namespace cufault {

/// Of the folder of a stack.
inline constexpr const char* stack_file = "stack.json";
/// In a folder of stacks: no record, but facts of the files of all releases of cuBLAS (reports/history/changes.hpp).
inline constexpr const char* release_files = "cublas-releases.jsonl";

void check_schema(const json_cursor& top);  ///< throws input_error
nlohmann::json stack_from(const json_cursor& at);
void check_case_name(const json_cursor& at);
/// Of an arm that has two lines.
[[noreturn]] void fail_twice(const json_cursor& named, const std::string& case_name, const std::string& arm);
/// Adds an arm to a case. `named`: where its name stands. Throws input_error where that is none, or the case has one of this name.
void take_arm(record& r, const std::string& case_name, arm_result arm, const json_cursor& named);

bool is_folder_name(std::string_view name);
/// A member of a stack's "keys", and the name of its GPU; empty where it has none.
std::string key_of(const nlohmann::json& stack, const char* name);
std::string gpu_name(const nlohmann::json& stack);
/// " --cublas /opt/cublas-12.8.4", for a command that repeats an arm: as the run was given it or, of what is kept of a stack, where its cuBLAS
/// was, if not in a toolkit. Empty where `cufault run` takes it by itself.
std::string library_options(const record& r);

void make_directories(const std::filesystem::path& folder);  ///< throws std::system_error that names it

}  // namespace cufault
