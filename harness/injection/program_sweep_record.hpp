// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/program_sweep_outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The record of a sweep of a program: JSON Lines, each written as soon as it is known (reports/schemas/program-sweep-line.schema.json).
namespace cufault::program_sweep {

/// The command "as typed", quoted for a POSIX shell.
std::string quoted(const std::vector<std::string>& command);

struct header {
  std::string version, began;  ///< of cufault; UTC
  std::vector<std::string> command;
  std::vector<std::string> libraries;  ///< whose calls were listed and failed; none: the driver's
  std::string depth;
  std::vector<std::string> unacceptable;  ///< outcomes; none: those by default
  double timeout_seconds = 0;
  std::size_t shard = 1, shards = 1;
  std::size_t sites = 0;  ///< lines of them follow
  clean_runs clean;
};
struct group_result {
  std::string function, library, code;
  outcome came_to = outcome::reported;
  std::uint64_t calls = 0;  ///< that it stands for
};
struct totals {
  std::uint64_t rows = 0, findings = 0, not_reached = 0, left_out = 0;
  std::uint64_t forked = 0, compared = 0;  ///< compared: run in both ways
  std::string anew;                        ///< why no child was forked, or no more
  int exit_code = 0;
  bool interrupted = false;
};
/// "cufault inject --fail ... -- COMMAND"
std::string line_that_repeats(const row& r, const std::vector<std::string>& command);
std::string line_of(const header& h);
std::string line_of(const compared_site& s);
std::string line_of(const row& r, const std::vector<std::string>& command);
std::string line_of(const group_result& g);
std::string line_of(const totals& t);
row read_row(std::string_view line);  ///< throws input_error

/// A record to continue.
struct earlier_record {
  header head;
  std::vector<compared_site> sites;
  std::vector<row> rows;
  std::vector<std::string> groups;  ///< lines of groups, each with its line break
  std::size_t bytes = 0;            ///< of its whole lines: what comes behind was cut off by a kill
};
/// Throws input_error with file and line.
earlier_record read_record(const std::filesystem::path& file);

}  // namespace cufault::program_sweep
