// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>

namespace cufault::injector {

/// A log of calls as a Chrome trace (JSON object format of the Trace Event Format), which Perfetto and chrome://tracing open: a complete
/// event for each line of a call, in its process and thread, in microseconds of CLOCK_MONOTONIC; names of processes. Line by line: as much
/// memory as one takes. Lines that cannot be read are left out. Returns how many calls there were.
std::uint64_t write_chrome_trace(const std::filesystem::path& log, std::ostream& out);

}  // namespace cufault::injector
