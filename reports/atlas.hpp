// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/record.hpp"
#include "reports/table.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The map of a library version, made of the rows of its sweeps (harness/sweep.hpp): for each status of each operation, which failures
/// of the driver lead to it; which of them poison the process or the handle; which leave memory behind; which are swallowed.
namespace cufault {

/// What ties sweeps, the command line and the atlas: cases are called sweep.OPERATION, arms by their depth, "first_" in front for the first
/// operation of a process.
inline constexpr std::string_view sweep_family = "sweep.", first_of_process = "first_";
inline constexpr const char *thin_sweep = "thin", *grouped_sweep = "grouped", *every_sweep = "every";
/// Measurements: how many driver calls there are; and, of a sweep that was not whole, which part of how many it was ("of 4"), 0 for a row that
/// was named.
inline constexpr const char *clean_calls = "driver calls of a clean run",
                            *part_of_sweep = "part of the sweep";

/// An operation as it was swept the most thoroughly, the first of its process or not.
struct swept_operation {
  std::string name;                 ///< "cublas_create"
  bool first = false;               ///< the first one of its process
  std::string depth;                ///< "thin", "grouped", "every": that of its rows
  double driver_calls = 0;          ///< of a clean run
  std::vector<call_record> rows{};  ///< each has `swept`; shards of one sweep are together
  std::string unresolved{};         ///< why it cannot be compared: then it has no rows
};
/// Whether it saw only some of the rows of its sweep: a shard, or one that was named.
bool is_part(const observation& o);
/// By stack label, sorted by name, what is not the first one of its process before what is. Of the sweeps of an operation the deepest that
/// is whole counts, the latest of these; all its shards together are whole. Where none is, the deepest's shards; never rows that were named.
/// Behind it, each deeper one that cannot be compared.
std::map<std::string, std::vector<swept_operation>> operations_in(std::span<const record> records);

/// Runs that a row stands for: of its calls with its codes, once and for good.
std::uint64_t runs_of(const swept_calls& row);
/// The operation fails again, and by a new handle too.
bool poisons_process(const swept_calls& row);
/// The operation fails again by the handle that was there, and by a new one it does not.
bool fails_again(const swept_calls& row);
/// The operation works again, but another one, a product, by the same handle fails.
bool spoils_another(const swept_calls& row);
/// "cufault sweep cublas_create/first --row libcublas:cuInit:1=INVALID_VALUE": the first run that a row stands for.
std::string repeats(const swept_operation& o, const swept_calls& row);

/// All of it and what its columns mean, or one line an operation. Returns how many operations there were.
enum class atlas_extent { overview, all };
std::size_t print_atlas(std::ostream& out, std::span<const record> records, table_style style,
                        atlas_extent extent = atlas_extent::all);

}  // namespace cufault
