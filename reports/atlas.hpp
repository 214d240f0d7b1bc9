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
#include <vector>

/// The map of a library version, made of the rows of its sweeps (harness/sweep.hpp): for each status of each operation, which failures
/// of the driver lead to it; which of them poison the process or the handle; which leave memory behind; which are swallowed.
namespace cufault {

/// An operation as it was swept the most thoroughly, the first of its process or not.
struct swept_operation {
  std::string name;         ///< "cublas_create"
  bool first = false;       ///< the first one of its process
  std::string depth;        ///< "thin", "grouped", "every": that of its rows
  double driver_calls = 0;  ///< of a clean run
  double rows_a_second = 0;
  std::vector<call_record> rows{};  ///< each has `swept`; shards of one sweep are together
};
/// By stack label, sorted by name, what is not the first one of its process before what is.
std::map<std::string, std::vector<swept_operation>> operations_in(std::span<const record> records);

/// Runs that a row stands for: of its calls with its codes, once and for good.
std::uint64_t runs_of(const swept_calls& row);
/// The operation fails from then on, by a new handle too.
bool poisons_process(const swept_calls& row);
/// The operation fails from then on by the handle that was there, and by a new one it does not.
bool poisons_handle(const swept_calls& row);
/// The operation works again, but another one, a product, by the same handle fails.
bool spoils_another(const swept_calls& row);
/// "cufault sweep cublas_create/first --row libcublas:cuInit:1=INVALID_VALUE": the first run that a row stands for.
std::string repeats(const swept_operation& o, const swept_calls& row);

/// All of it, or one line an operation. Returns how many operations there were.
enum class atlas_extent { overview, all };
std::size_t print_atlas(std::ostream& out, std::span<const record> records, table_style style,
                        atlas_extent extent = atlas_extent::all);

}  // namespace cufault
