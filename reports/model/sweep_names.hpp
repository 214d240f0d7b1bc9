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
/// Measurements of a sweep.
inline constexpr const char* clean_calls = "driver calls of a clean run";
/// Sites that two clean runs did not call equally often; a note of the same name names them.
inline constexpr const char* unstable_sites = "call sites not swept";
/// K, with the unit "of N"; 0 if rows were named; absent for a whole sweep.
inline constexpr const char* part_of_sweep = "part of the sweep";
/// Of one run; dropped where parts are joined.
inline constexpr const char* rows_per_second = "rows a second";
/// A note of a sweep that was joined: how many parts it had.
inline constexpr const char* parts_of_sweep = "parts of the sweep";

}  // namespace cufault
