// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault capture`, and what `cufault why --capture` needs of it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace cufault {

struct capture_arguments {
  std::filesystem::path output{};  ///< the program that is made; empty: call.cu
  std::string call{};              ///< only functions of this name or glob; empty: any
  bool data = false, arm = false, no_run = false, check_numbers = false;
};
/// What a command needs, so that its first failing call lies in this folder, which is made. Throws usage_error for a file that
/// cannot be written.
std::map<std::string, std::string> capture_variables(const std::filesystem::path& folder,
                                                     const capture_arguments& arguments);
/// Makes the program of it, and tries that. Returns what is to be said, in lines. Throws nothing.
std::string captured(const std::filesystem::path& folder, const capture_arguments& arguments);

}  // namespace cufault
