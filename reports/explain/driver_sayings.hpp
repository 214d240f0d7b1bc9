// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the driver's error log said while recorded calls were made.
#pragma once

#include "reports/explain/lexicon.hpp"
#include "reports/judge/table.hpp"
#include "reports/judge/usual_messages.hpp"
#include "reports/model/record.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// A message, with all that stood behind it. Messages that differ by numbers or mangled names alone are one.
struct driver_saying {
  driver_message said{};                          ///< an example
  std::map<std::string, std::uint64_t> behind{};  ///< "cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR" -> trials
  std::map<std::size_t, std::uint64_t>
      causes{};  ///< index into lexicon::causes -> trials: what had happened, by the table's patterns of arms
  std::uint64_t failed = 0;  ///< trials in which it was the first message, not usual, of a call that failed
  std::uint64_t succeeded = 0;             ///< trials in which it came during a call that succeeded
  std::set<std::string> arms{}, stacks{};  ///< of calls that failed; stacks also of calls that succeeded
};

struct driver_sayings {
  std::vector<driver_saying> all;  ///< those behind most failed trials first
  std::uint64_t heard = 0,
                silent = 0;  ///< failed calls, in runs that heard the log, with a reason and without one
};
/// Trials of remedies count as those of their faults do. Sweeps and what is made up are left out: what they make fail, the driver does not know
/// of.
driver_sayings driver_sayings_in(std::span<const record> records, const lexicon& known);

/// The tables driver_log and driver_sayings.
void write_sayings(row_writer& to, const driver_sayings& said, const lexicon& known);

/// The same driver call with the same code, where the driver itself failed it and where a sweep made it fail.
struct nature_and_injection {
  std::string stack, call, function, code;
  std::map<std::string, std::uint64_t> natural{};  ///< status -> trials
  /// Status, or success -> driver calls that a sweep made fail, with this code and with others; empty: with none.
  std::map<std::string, std::uint64_t> injected{}, with_other_codes{};
};
/// Each natural status is one of the injected.
bool agrees(const std::map<std::string, std::uint64_t>& natural,
            const std::map<std::string, std::uint64_t>& injected);
/// Of calls of functions that sweeps have, by stack.
std::vector<nature_and_injection> nature_and_injection_in(std::span<const record> records);

}  // namespace cufault
