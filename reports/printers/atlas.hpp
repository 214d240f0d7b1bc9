// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"
#include "reports/model/sweep_names.hpp"
#include "reports/printers/table.hpp"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

/// The map of a library version, made of the rows of its sweeps (harness/injection/sweep.hpp): for each status of each operation, which failures
/// of the driver lead to it; which of them poison the process or the handle; which leave memory behind; which are swallowed.
namespace cufault {

class row_writer;

/// An operation as it was swept the most thoroughly, the first of its process or not.
struct swept_operation {
  std::string name;                 ///< "cublas_create"
  bool first = false;               ///< the first one of its process
  std::string depth;                ///< "thin", "grouped", "every": that of its rows
  double driver_calls = 0;          ///< of a clean run
  double unstable_sites = 0;        ///< call sites that two clean runs did not call equally often: not swept
  std::vector<call_record> rows{};  ///< each has `swept`; parts of one sweep are together
  std::string unresolved{};         ///< why it cannot be compared: then it has no rows
};
/// By stack label, sorted by name, what is not the first one of its process before what is. Of the sweeps of an operation the deepest that
/// is whole counts, the latest of these; all its parts together are whole. Where none is, the deepest's parts; never rows that were named.
/// Behind it, each deeper one that cannot be compared.
std::map<std::string, std::vector<swept_operation>> operations_in(std::span<const record> records);

/// Runs that a row stands for: of its calls with its codes, once and persistently.
std::uint64_t runs_of(const swept_calls& row);
/// The operation fails again, and by a new handle too.
bool poisons_process(const swept_calls& row);
/// The operation fails again by the handle that was there, and by a new one it does not.
bool fails_again(const swept_calls& row);
/// The operation works again, but another one, a product, by the same handle fails.
bool spoils_another(const swept_calls& row);
/// "cufault sweep cublas_create/first --row libcublas:cuInit@0f3a97c1:1=INVALID_VALUE": the first run that a row stands for.
std::string repeats(const swept_operation& o, const swept_calls& row);

/// Of the rows of an operation, those in which it reached the driver call that was failed: in how many runs it came to what.
struct swept_counts {
  std::map<std::string, std::uint64_t> statuses{};  ///< "INTERNAL_ERROR", "CRASHED"
  std::uint64_t runs = 0, swallowed = 0,
                wrong = 0;  ///< swallowed, wrong: SUCCESS, and it did what it should, or not
  std::uint64_t fails_again = 0, poisons_process = 0;
  std::int64_t most_bytes_left = 0;
  bool clean = false;  ///< with nothing failed it is right
};
swept_counts counts_of(const swept_operation& o);
/// "cublas_create, the first of its process"
std::string title(const swept_operation& o);

/// What the failure of a driver call inside an operation leads to, by its code, once or persistently, by the call before it and its number.
struct driver_failure {
  std::string operation{};              ///< "cublas_create, the first of its process"
  std::string functions{};              ///< "cuMemAlloc_v2 of libcublas": all of which this holds for
  std::string leads_to{};               ///< "ALLOC_FAILED where code OUT_OF_MEMORY; else INTERNAL_ERROR"
  std::vector<std::string> statuses{};  ///< among them, in full: "CUBLAS_STATUS_ALLOC_FAILED"
};
/// By operation; driver calls whose failure is always swallowed, or always ends the process, are left out.
std::vector<driver_failure> driver_failures_of(const std::vector<swept_operation>& operations);
/// The table driver_failures.
void write_driver_failures(row_writer& to, std::span<const record> records);

/// Tables of each stack that has sweeps: an overview with a row an operation, and all else. None where nothing was swept.
enum class atlas_extent { overview, all };
std::vector<named_table> atlas_tables(std::span<const record> records,
                                      atlas_extent extent = atlas_extent::all);
/// With what the columns mean, unless it is the overview alone.
void print_atlas(std::ostream& out, const std::vector<named_table>& atlas, table_style style);

}  // namespace cufault
