// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>

namespace cufault::injector {

/// Converts a log of calls to a Chrome trace (JSON object format of the Trace Event Format) for Perfetto and chrome://tracing. Each call is
/// one complete event of its process and thread, in microseconds of CLOCK_MONOTONIC. Works line by line, in the memory of one line. Skips
/// unreadable lines. Returns the number of calls.
std::uint64_t write_chrome_trace(const std::filesystem::path& log, std::ostream& out);

}  // namespace cufault::injector
