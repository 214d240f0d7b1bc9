// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace cufault {

/// A file or folder of lib/cufault, built or installed beside this program ("fake", "libcufault.so"); empty if it does not exist.
std::filesystem::path bundled_file(const std::string& name);

}  // namespace cufault
