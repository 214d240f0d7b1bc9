// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace cufault {

/// Bytes that this process can still have: of the machine, and of each control group that it is in, by either version of them. What the kernel
/// can drop counts as free. `root`: where proc and sys lie. 0 where nothing says it.
std::uint64_t available_host_memory(const std::filesystem::path& root = "/");

}  // namespace cufault
