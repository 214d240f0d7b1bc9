// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cufault {

/// What ties sweeps, the command line and the atlas: cases are called sweep.OPERATION, arms by their depth, "first_" in front for the first
/// operation of a process.
inline constexpr std::string_view sweep_family = "sweep.", first_of_process = "first_";
inline constexpr const char *thin_sweep = "thin", *grouped_sweep = "grouped", *every_sweep = "every";
/// The arm that says what the operation is like where nothing fails.
inline constexpr const char* operation_facts = "facts";
/// Measurements: how many driver calls there are; how many call sites two clean runs did not call equally often (a note names them); and, of a
/// sweep that was not whole, which part of how many it was ("of 4"), 0 for a row that was named; how many rows ran a second.
inline constexpr const char *clean_calls = "driver calls of a clean run",
                            *unstable_sites = "call sites not swept", *part_of_sweep = "part of the sweep",
                            *rows_per_second = "rows a second";

}  // namespace cufault
